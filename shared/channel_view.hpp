#pragma once

#include "shared/channel_geometry.hpp"
#include "shared/channel_layout.hpp"

#include <boost/interprocess/sync/interprocess_semaphore.hpp>

#include <cstddef>
#include <span>

namespace overlap {

static_assert(sizeof(boost::interprocess::interprocess_semaphore) <= sizeof(SemaphoreStorage));

/// A channel's memory, seen through a private copy of its geometry: pointers, no ownership.
///
/// Works on any span of the right size, so that both sides can be two threads of one test. Nothing
/// here is read back from the memory to find an address.
class ChannelView {
 public:
  ChannelView() = default;
  /// @pre memory.size() >= geometry.total_bytes; aligned to a page
  ChannelView(std::span<std::byte> memory, const ChannelGeometry& geometry) noexcept
      : base_(memory.data()), geometry_(geometry) {}

  [[nodiscard]] const ChannelGeometry& geometry() const noexcept { return geometry_; }

  [[nodiscard]] ChannelHeader& header() const noexcept { return at<ChannelHeader>(0); }
  [[nodiscard]] ProducerWords& producer_words() const noexcept {
    return at<ProducerWords>(kProducerWordsOffsetBytes);
  }
  [[nodiscard]] DaemonWords& daemon_words() const noexcept {
    return at<DaemonWords>(kDaemonWordsOffsetBytes);
  }
  [[nodiscard]] boost::interprocess::interprocess_semaphore& semaphore() const noexcept {
    return at<boost::interprocess::interprocess_semaphore>(kSemaphoreOffsetBytes);
  }
  /// `ring_capacity` entries.
  [[nodiscard]] SubmissionEntry* submissions() const noexcept {
    return &at<SubmissionEntry>(geometry_.submissions_offset_bytes);
  }
  /// `ring_capacity` entries.
  [[nodiscard]] CompletionEntry* completions() const noexcept {
    return &at<CompletionEntry>(geometry_.completions_offset_bytes);
  }
  /// One byte a slot that only the daemon writes: 1 while the job is on the device.
  [[nodiscard]] std::atomic<std::uint8_t>& issued(std::uint32_t slot) const noexcept {
    return at<std::atomic<std::uint8_t>>(geometry_.issued_offset_bytes + slot);
  }
  /// @pre slot < slot_count
  [[nodiscard]] std::span<std::byte> input(std::uint32_t slot) const noexcept {
    return {base_ + geometry_.input_offset_bytes(slot), geometry_.input_bytes};
  }
  /// @pre slot < slot_count
  [[nodiscard]] std::span<std::byte> output(std::uint32_t slot) const noexcept {
    return {base_ + geometry_.output_offset_bytes(slot), geometry_.output_bytes};
  }
  [[nodiscard]] std::span<std::byte> tables() const noexcept {
    return {base_ + geometry_.tables_offset_bytes, geometry_.table_bytes};
  }

 private:
  template <class T>
  [[nodiscard]] T& at(std::uint64_t offset_bytes) const noexcept {
    return *reinterpret_cast<T*>(base_ + offset_bytes);
  }

  std::byte* base_ = nullptr;
  ChannelGeometry geometry_;
};

/// Writes header, words, rings and semaphore into zeroed memory; the version last.
///
/// Release 'channel written' (the store of `ChannelHeader::version`) pairs with the acquire of the
/// same name in `is_published`: whoever sees the version sees everything written before it.
void write_channel(const ChannelView& view, std::uint64_t features);

/// Whether the header is whole and describes exactly `view`'s geometry.
[[nodiscard]] bool is_published(const ChannelView& view) noexcept;

}  // namespace overlap
