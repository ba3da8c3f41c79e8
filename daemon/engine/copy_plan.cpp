#include "daemon/engine/copy_plan.hpp"

#include <algorithm>

namespace overlap {
namespace {

bool continues(const CopyRange& last, const CopyRange& next) noexcept {
  return last.destination + last.bytes == next.destination &&
         last.source + last.bytes == next.source;
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
    const bool at_border = (offset - region.offset_bytes) % region.chunk_bytes == 0;
    if (!ranges.empty() && !at_border && continues(ranges.back(), piece)) {
      ranges.back().bytes += bytes;
    } else {
      ranges.push_back(piece);
    }
    done += bytes;
  }
}

}  // namespace overlap
