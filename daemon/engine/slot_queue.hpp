#pragma once

#include <bit>
#include <cstdint>
#include <vector>

namespace overlap {

/// Slots that wait, in order: a ring of fixed size that takes from the front, adds at the back and
/// puts back in front. Restricted: one thread.
class SlotQueue {
 public:
  /// @param capacity how many can wait at most, at least 1
  explicit SlotQueue(std::uint32_t capacity) : slots_(std::bit_ceil(capacity)) {}

  [[nodiscard]] bool empty() const noexcept { return head_ == tail_; }
  [[nodiscard]] std::uint32_t size() const noexcept { return tail_ - head_; }
  /// @pre not empty
  [[nodiscard]] std::uint32_t front() const noexcept { return slots_[head_ & mask()]; }
  void pop_front() noexcept { ++head_; }
  /// @pre size() < capacity
  void push_back(std::uint32_t slot) noexcept { slots_[tail_++ & mask()] = slot; }
  /// @pre size() < capacity
  void push_front(std::uint32_t slot) noexcept { slots_[--head_ & mask()] = slot; }
  void clear() noexcept { head_ = tail_; }

  /// Calls `visit(slot)` from front to back.
  template <class Visitor>
  void for_each(Visitor visit) const {
    for (std::uint32_t at = head_; at != tail_; ++at) {
      visit(slots_[at & mask()]);
    }
  }

 private:
  [[nodiscard]] std::uint32_t mask() const noexcept {
    return static_cast<std::uint32_t>(slots_.size()) - 1;
  }

  std::vector<std::uint32_t> slots_;
  // Run freely; their distance counts.
  std::uint32_t head_ = 0;
  std::uint32_t tail_ = 0;
};

}  // namespace overlap
