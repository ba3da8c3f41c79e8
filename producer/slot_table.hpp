#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <unordered_map>
#include <vector>

namespace overlap {

/// A slot as its handle knows it: the channel that it was acquired from, by identity, and its index
/// there.
struct SlotKey {
  const void* channel = nullptr;
  std::uint32_t index = 0;

  friend bool operator==(const SlotKey&, const SlotKey&) = default;
};

/// Which places of the current channel are free, and where slots acquired from an earlier channel
/// have theirs. Restricted: one thread at a time.
///
/// Every acquired slot and every unfinished job has a place in the current channel, so that after a
/// resume all of them can be submitted to it.
class SlotTable {
 public:
  SlotTable() = default;
  SlotTable(const void* channel, std::uint32_t slot_count);

  /// The table of the next channel of the same size: all free but for one place for every acquired
  /// slot.
  [[nodiscard]] SlotTable successor(const void* channel) const;

  /// Takes a free place for a new handle.
  [[nodiscard]] std::optional<std::uint32_t> acquire();
  /// Takes a free place for an unfinished job of an earlier channel.
  /// @pre there is one: see the class
  [[nodiscard]] std::uint32_t take_for_job();

  /// The place of an acquired slot in the current channel.
  /// @pre the slot is acquired
  [[nodiscard]] std::uint32_t place_of(const SlotKey& slot) const;
  /// From now on the handle is one of the current channel, at `place_of(slot)`.
  void settle(const SlotKey& slot);
  /// The handle is gone, its place stays taken: by a job.
  void submit(const SlotKey& slot);
  /// The handle of an acquired slot or of a result is gone, and so is its claim.
  void give_back(const SlotKey& slot);

  [[nodiscard]] std::uint32_t free_count() const noexcept {
    return static_cast<std::uint32_t>(free_.size());
  }

 private:
  struct KeyHash {
    std::size_t operator()(const SlotKey& slot) const noexcept {
      return std::hash<const void*>()(slot.channel) ^ std::hash<std::uint64_t>()(slot.index);
    }
  };

  void forget_acquired(const SlotKey& slot);

  const void* channel_ = nullptr;
  std::uint32_t slot_count_ = 0;
  /// Taken from the back: the place given back last is the warmest in the caches.
  std::vector<std::uint32_t> free_;
  /// Bytes, not bits: neighbours are written one right after the other.
  std::vector<std::uint8_t> acquired_;
  /// Places of slots that were acquired from an earlier channel.
  std::unordered_map<SlotKey, std::uint32_t, KeyHash> moved_;
};

}  // namespace overlap
