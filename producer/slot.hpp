#pragma once

#include "producer/slot_hold.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <utility>

namespace overlap {

/// An input area to fill, in place: shared memory that the device reads. Submit it, or let it go and
/// it is free again. Keeps its memory when the daemon dies. Move-only; may outlive its `Producer`.
/// Thread safety: not; different slots on different threads are independent.
class Slot {
 public:
  /// Empty.
  Slot() noexcept = default;
  explicit Slot(SlotHold hold) noexcept : hold_(std::move(hold)) {}

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(hold_); }

  /// The whole input area as elements of type T; a rest too short for one is left out. Holds
  /// whatever its last user left there. Aligned to 256 bytes.
  /// @throws ForkedProcess, InvalidSubmission if the handle is empty
  template <class T = std::byte>
  [[nodiscard]] std::span<T> input() const {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 256);
    const std::span<std::byte> bytes = input_area();
    return {reinterpret_cast<T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  /// Capacity of the input area, bytes.
  /// @throws ForkedProcess, InvalidSubmission if the handle is empty
  [[nodiscard]] std::uint64_t input_bytes() const { return input_area().size(); }

  /// Which slot of its channel this is.
  /// @throws ForkedProcess, InvalidSubmission if the handle is empty
  [[nodiscard]] std::uint32_t index() const;

  /// Gives the slot back unused. Idempotent.
  void release() noexcept { hold_.release(); }

  [[nodiscard]] SlotHold& hold() noexcept { return hold_; }
  [[nodiscard]] const SlotHold& hold() const noexcept { return hold_; }

 private:
  [[nodiscard]] std::span<std::byte> input_area() const;

  SlotHold hold_;
};

}  // namespace overlap
