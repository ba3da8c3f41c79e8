#pragma once

#include "daemon/device/device.hpp"
#include "daemon/engine/pin_layout.hpp"

#include <cstdint>
#include <vector>

namespace overlap {

/// One job's bytes between channel memory and a lane's buffer.
struct CopyRequest {
  /// Start of the channel's memory.
  std::byte* channel_base;
  std::uint64_t channel_offset_bytes;
  std::byte* device;
  std::uint64_t bytes;
};

enum class CopyDirection : std::uint8_t { in, out };

/// Appends a job's copy to a batch's: cut at the borders of pinned chunks, and joined to the last one
/// where both sides go on without a gap or as evenly spaced rows, within a chunk. So neighbouring slots
/// are one copy, full or not, if their jobs come in the order of the slots.
/// @pre the request lies within `region`
void append_copy(std::vector<CopyRange>& ranges, CopyDirection direction,
                 const ChunkedRegion& region, const CopyRequest& request);

}  // namespace overlap
