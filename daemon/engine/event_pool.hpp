#pragma once

#include "daemon/device/device.hpp"

#include <memory>
#include <utility>
#include <vector>

namespace overlap {

/// Events that come and go with channels, while a device's own events stay for ever.
/// Restricted: the engine's thread.
class EventPool : public std::enable_shared_from_this<EventPool> {
 public:
  /// An event on loan; goes back to the pool. Move-only; moved-from is empty.
  class Lease {
   public:
    Lease() noexcept = default;
    Lease(std::shared_ptr<EventPool> pool, EventId event) noexcept
        : pool_(std::move(pool)), event_(event) {}
    Lease(Lease&&) noexcept = default;
    Lease& operator=(Lease&& other) noexcept {
      std::swap(pool_, other.pool_);
      std::swap(event_, other.event_);
      return *this;
    }
    Lease(const Lease&) = delete;
    Lease& operator=(const Lease&) = delete;
    ~Lease() {
      if (pool_ != nullptr) {
        pool_->free_.push_back(event_);
      }
    }

    [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }
    [[nodiscard]] EventId id() const noexcept { return event_; }

   private:
    std::shared_ptr<EventPool> pool_;
    EventId event_{};
  };

  /// @pre the device outlives every lease's use
  explicit EventPool(Device& device) : device_(device) {}

  /// @throws std::runtime_error if the device gives no event
  [[nodiscard]] Lease lease() {
    if (free_.empty()) {
      // Room for its return: a destructor gives it back.
      free_.reserve(++made_);
      return {shared_from_this(), device_.create_event()};
    }
    const EventId event = free_.back();
    free_.pop_back();
    return {shared_from_this(), event};
  }

 private:
  Device& device_;
  std::vector<EventId> free_;
  std::size_t made_ = 0;
};

}  // namespace overlap
