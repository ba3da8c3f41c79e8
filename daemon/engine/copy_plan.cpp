#include "daemon/engine/copy_plan.hpp"

#include <algorithm>

namespace overlap {
namespace {

/// From the start of the last row to that of the next; wraps round if that lies before.
std::uint64_t step(const std::byte* first_row, std::uint64_t rows, std::uint64_t pitch_bytes,
                   const std::byte* next) noexcept {
  return reinterpret_cast<std::uintptr_t>(next) -
         (reinterpret_cast<std::uintptr_t>(first_row) + (rows - 1) * pitch_bytes);
}

bool is_pitch_of(const CopyRange& rows, std::uint64_t pitch_bytes) noexcept {
  return pitch_bytes >= rows.bytes && pitch_bytes <= kMaxPitchBytes;
}

/// Whether what `range` has of a channel's memory begins at `start` or behind it.
bool starts_from(const CopyRange& range, CopyDirection direction, const std::byte* start) noexcept {
  const std::byte* const host = direction == CopyDirection::in ? range.source : range.destination;
  return reinterpret_cast<std::uintptr_t>(host) >= reinterpret_cast<std::uintptr_t>(start);
}

/// Makes `next` part of `last` if one copy can carry both.
bool join(CopyRange& last, const CopyRange& next) noexcept {
  const std::uint64_t destination_step =
      step(last.destination, last.rows, last.destination_pitch_bytes, next.destination);
  const std::uint64_t source_step =
      step(last.source, last.rows, last.source_pitch_bytes, next.source);
  if (last.rows == 1 && destination_step == last.bytes && source_step == last.bytes) {
    last.bytes += next.bytes;
    return true;
  }
  const bool goes_on = last.rows == 1 || (destination_step == last.destination_pitch_bytes &&
                                          source_step == last.source_pitch_bytes);
  if (next.bytes != last.bytes || !goes_on || !is_pitch_of(last, destination_step) ||
      !is_pitch_of(last, source_step)) {
    return false;
  }
  ++last.rows;
  last.destination_pitch_bytes = destination_step;
  last.source_pitch_bytes = source_step;
  return true;
}

}  // namespace

void append_copy(std::vector<CopyRange>& ranges, CopyDirection direction,
                 const ChunkedRegion& region, const CopyRequest& request) {
  std::uint64_t done = 0;
  while (done < request.bytes) {
    const std::uint64_t offset = request.channel_offset_bytes + done;
    const std::uint64_t bytes = std::min(request.bytes - done, region.bytes_to_border(offset));
    std::byte* host = request.channel_base + offset;
    std::byte* device = request.device + done;
    const CopyRange piece = direction == CopyDirection::in ? CopyRange{device, host, bytes}
                                                           : CopyRange{host, device, bytes};
    const std::byte* const chunk_start = host - (offset - region.offset_bytes) % region.chunk_bytes;
    if (ranges.empty() || !starts_from(ranges.back(), direction, chunk_start) ||
        !join(ranges.back(), piece)) {
      ranges.push_back(piece);
    }
    done += bytes;
  }
}

}  // namespace overlap
