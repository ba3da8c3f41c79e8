#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace overlap {

/// The farthest that the rows of a copy may lie apart: the `cudaDevAttrMaxPitch` of GPUs.
inline constexpr std::uint64_t kMaxPitchBytes = (std::uint64_t{1} << 31U) - 1;

/// What one copy carries: bytes that lie side by side, or rows of them that lie evenly apart.
struct CopyRange {
  std::byte* destination;
  const std::byte* source;
  /// Of one row.
  std::uint64_t bytes;
  std::uint64_t rows = 1;
  /// From the start of a row to the start of the next: at least `bytes`, at most `kMaxPitchBytes`.
  /// Nothing with one row.
  std::uint64_t destination_pitch_bytes = 0;
  std::uint64_t source_pitch_bytes = 0;

  friend bool operator==(const CopyRange&, const CopyRange&) = default;
};

/// Copies on the calling thread.
inline void copy_now(const CopyRange& range) noexcept {
  for (std::uint64_t row = 0; row < range.rows; ++row) {
    std::memcpy(range.destination + row * range.destination_pitch_bytes,
                range.source + row * range.source_pitch_bytes, range.bytes);
  }
}

}  // namespace overlap
