#pragma once

#include "producer/channel_connection.hpp"
#include "producer/slot_table.hpp"

#include <cstdint>
#include <utility>

namespace overlap {

class ProducerCore;

/// A claim on one slot: what `Slot` and `Result` have in common. Move-only; gives the slot back when
/// it goes, and does nothing at all in a forked child.
///
/// The core counts the claims that are out, and what memory they point into, under the mutex that
/// giving and taking a slot need anyway; so both pointers are plain, and both are valid for as long
/// as the claim lasts.
class SlotHold {
 public:
  SlotHold() noexcept = default;
  /// @pre the core has counted this claim
  SlotHold(ProducerCore& core, ChannelConnection& connection, std::uint32_t index) noexcept
      : core_(&core), connection_(&connection), index_(index) {}
  SlotHold(SlotHold&& other) noexcept
      : core_(std::exchange(other.core_, nullptr)),
        connection_(other.connection_),
        index_(other.index_) {}
  SlotHold& operator=(SlotHold&& other) noexcept {
    if (this != &other) {
      release();
      core_ = std::exchange(other.core_, nullptr);
      connection_ = other.connection_;
      index_ = other.index_;
    }
    return *this;
  }
  SlotHold(const SlotHold&) = delete;
  SlotHold& operator=(const SlotHold&) = delete;
  ~SlotHold() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return core_ != nullptr; }
  /// @throws ForkedProcess in a forked child
  /// @throws InvalidSubmission if the handle is empty
  void check() const;

  [[nodiscard]] const ProducerCore* core() const noexcept { return core_; }
  /// @pre the handle is not empty
  [[nodiscard]] ChannelConnection& connection() const noexcept { return *connection_; }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] SlotKey key() const noexcept { return {connection_, index_}; }

  /// The claim has gone over to somebody else, or the core has taken it back.
  void forget() noexcept { core_ = nullptr; }
  /// The claim is now one on another place.
  void move_to(ChannelConnection& connection, std::uint32_t index) noexcept {
    connection_ = &connection;
    index_ = index;
  }
  /// Gives the slot back. Idempotent.
  void release() noexcept {
    if (core_ != nullptr) {
      give_back();
    }
  }

 private:
  void give_back() noexcept;

  ProducerCore* core_ = nullptr;
  ChannelConnection* connection_ = nullptr;
  std::uint32_t index_ = 0;
};

}  // namespace overlap
