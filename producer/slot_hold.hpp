#pragma once

#include "producer/channel_connection.hpp"
#include "producer/slot_table.hpp"

#include <cstdint>
#include <memory>
#include <utility>

namespace overlap {

class ProducerCore;

/// A claim on one slot: what `Slot` and `Result` have in common. Move-only; gives the slot back when
/// it goes, and does nothing at all in a forked child.
class SlotHold {
 public:
  SlotHold() noexcept = default;
  SlotHold(std::shared_ptr<ProducerCore> core, std::shared_ptr<ChannelConnection> connection,
           std::uint32_t index) noexcept
      : core_(std::move(core)), connection_(std::move(connection)), index_(index) {}
  SlotHold(SlotHold&& other) noexcept = default;
  SlotHold& operator=(SlotHold&& other) noexcept;
  SlotHold(const SlotHold&) = delete;
  SlotHold& operator=(const SlotHold&) = delete;
  ~SlotHold() { release(); }

  [[nodiscard]] explicit operator bool() const noexcept { return core_ != nullptr; }
  /// @throws ForkedProcess in a forked child
  /// @throws InvalidSubmission if the handle is empty
  void check() const;

  [[nodiscard]] const ProducerCore* core() const noexcept { return core_.get(); }
  [[nodiscard]] const std::shared_ptr<ChannelConnection>& connection() const noexcept {
    return connection_;
  }
  [[nodiscard]] std::uint32_t index() const noexcept { return index_; }
  [[nodiscard]] SlotKey key() const noexcept { return {connection_.get(), index_}; }

  /// The claim has gone over to somebody else.
  void forget() noexcept;
  /// Gives the slot back. Idempotent.
  void release() noexcept;

 private:
  std::shared_ptr<ProducerCore> core_;
  std::shared_ptr<ChannelConnection> connection_;
  std::uint32_t index_ = 0;
};

}  // namespace overlap
