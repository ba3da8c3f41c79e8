#include "producer/slot_table.hpp"

#include <stdexcept>

namespace overlap {

SlotTable::SlotTable(const void* channel, std::uint32_t slot_count)
    : channel_(channel), slot_count_(slot_count), acquired_(slot_count, 0) {
  free_.reserve(slot_count);
  for (std::uint32_t index = slot_count; index > 0; --index) {
    free_.push_back(index - 1);
  }
}

SlotTable SlotTable::successor(const void* channel) const {
  SlotTable next(channel, slot_count_);
  for (std::uint32_t index = 0; index < slot_count_; ++index) {
    if (acquired_[index] != 0) {
      next.moved_.emplace(SlotKey{channel_, index}, next.take_for_job());
    }
  }
  for (const auto& [original, place] : moved_) {
    next.moved_.emplace(original, next.take_for_job());
  }
  return next;
}

std::optional<std::uint32_t> SlotTable::acquire() {
  if (free_.empty()) {
    return std::nullopt;
  }
  const std::uint32_t index = take_for_job();
  acquired_[index] = 1;
  return index;
}

std::uint32_t SlotTable::take_for_job() {
  if (free_.empty()) {
    throw std::logic_error("more acquired slots and unfinished jobs than slots");
  }
  const std::uint32_t index = free_.back();
  free_.pop_back();
  return index;
}

std::uint32_t SlotTable::place_of(const SlotKey& slot) const {
  if (slot.channel == channel_) {
    return slot.index;
  }
  const auto found = moved_.find(slot);
  if (found == moved_.end()) {
    throw std::logic_error("this slot is not acquired");
  }
  return found->second;
}

void SlotTable::settle(const SlotKey& slot) {
  const std::uint32_t place = place_of(slot);
  forget_acquired(slot);
  acquired_[place] = 1;
}

void SlotTable::submit(const SlotKey& slot) { forget_acquired(slot); }

void SlotTable::give_back(const SlotKey& slot) {
  if (slot.channel == channel_) {
    acquired_[slot.index] = 0;
    free_.push_back(slot.index);
    return;
  }
  const auto found = moved_.find(slot);
  // A result of an earlier channel has no place in this one.
  if (found != moved_.end()) {
    free_.push_back(found->second);
    moved_.erase(found);
  }
}

void SlotTable::forget_acquired(const SlotKey& slot) {
  if (slot.channel == channel_) {
    acquired_[slot.index] = 0;
    return;
  }
  moved_.erase(slot);
}

}  // namespace overlap
