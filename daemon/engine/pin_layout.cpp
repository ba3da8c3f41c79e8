#include "daemon/engine/pin_layout.hpp"

#include "shared/channel_layout.hpp"

#include <algorithm>

namespace overlap {
namespace {

constexpr std::uint64_t round_up_to_page(std::uint64_t bytes) noexcept {
  return (bytes + kPageBytes - 1) / kPageBytes * kPageBytes;
}

ChunkedRegion chunk_region(std::uint64_t offset_bytes, std::uint32_t slot_count,
                           std::uint64_t stride_bytes, std::uint64_t max_chunk_bytes) noexcept {
  ChunkedRegion region;
  region.offset_bytes = offset_bytes;
  region.bytes = round_up_to_page(slot_count * stride_bytes);
  region.chunk_bytes = max_chunk_bytes;
  if (stride_bytes != 0 && stride_bytes % kPageBytes == 0 && stride_bytes <= max_chunk_bytes) {
    region.chunk_bytes = max_chunk_bytes / stride_bytes * stride_bytes;
  }
  return region;
}

void append_ranges(const ChunkedRegion& region, std::vector<PinRange>& out) {
  for (std::uint64_t done = 0; done < region.bytes; done += region.chunk_bytes) {
    out.push_back({region.offset_bytes + done, std::min(region.chunk_bytes, region.bytes - done)});
  }
}

}  // namespace

PinLayout plan_pinning(const ChannelGeometry& g, std::uint64_t max_chunk_bytes) noexcept {
  return {
      chunk_region(g.inputs_offset_bytes, g.slot_count, g.input_stride_bytes, max_chunk_bytes),
      chunk_region(g.outputs_offset_bytes, g.slot_count, g.output_stride_bytes, max_chunk_bytes),
      chunk_region(g.tables_offset_bytes, 1, g.table_bytes, max_chunk_bytes)};
}

std::vector<PinRange> pin_ranges(const PinLayout& layout) {
  std::vector<PinRange> ranges;
  append_ranges(layout.inputs, ranges);
  append_ranges(layout.outputs, ranges);
  append_ranges(layout.tables, ranges);
  return ranges;
}

}  // namespace overlap
