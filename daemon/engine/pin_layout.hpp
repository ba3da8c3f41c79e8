#pragma once

#include "shared/channel_geometry.hpp"

#include <cstdint>
#include <vector>

namespace overlap {

/// A part of a channel's memory that is pinned by one call. Offsets count from the memory's start.
struct PinRange {
  std::uint64_t offset_bytes;
  std::uint64_t bytes;

  friend bool operator==(const PinRange&, const PinRange&) = default;
};

/// A region cut into equal chunks (the last may be short); a copy may not cross a chunk's border.
struct ChunkedRegion {
  std::uint64_t offset_bytes = 0;
  std::uint64_t bytes = 0;
  std::uint64_t chunk_bytes = 0;

  /// Bytes from `offset` to the end of its chunk.
  /// @pre offset_bytes <= offset < offset_bytes + bytes
  [[nodiscard]] constexpr std::uint64_t bytes_to_border(std::uint64_t offset) const noexcept {
    return chunk_bytes - (offset - offset_bytes) % chunk_bytes;
  }
};

/// How a channel's inputs, outputs and tables are pinned: in chunks, because one long call would stall every
/// other producer's jobs (H200: 45-68 ms for 1 GiB in one call, 1.4 ms in 16 MiB chunks with gaps).
struct PinLayout {
  ChunkedRegion inputs;
  ChunkedRegion outputs;
  ChunkedRegion tables;
};

/// Chunks hold whole slots where a slot is no larger than a chunk and fills whole pages.
/// @pre max_chunk_bytes is a positive multiple of the page
[[nodiscard]] PinLayout plan_pinning(const ChannelGeometry& geometry,
                                     std::uint64_t max_chunk_bytes) noexcept;

/// The ranges to pin, in order: whole pages, disjoint, covering inputs, outputs and tables.
[[nodiscard]] std::vector<PinRange> pin_ranges(const PinLayout& layout);

}  // namespace overlap
