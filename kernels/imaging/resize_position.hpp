#pragma once

#include <algorithm>
#include <cstdint>

namespace overlap {

/// Bits of the weights of `resize`.
inline constexpr std::uint32_t kResizeBits = 11;
inline constexpr std::uint32_t kResizeOne = 1U << kResizeBits;

/// Between which two samples an output sample lies.
struct ResizePosition {
  std::uint32_t first;
  std::uint32_t second;
  /// Of the second, in 1/2048, below 2048; the rest is the first's.
  std::uint32_t weight;
};

/// With pixels as areas whose centres lie at halves, output number `at` of `out_size` lies at
/// (at + 1/2) * in_size / out_size - 1/2: here to the nearest 1/2048, halves up, and within the input.
/// @pre sizes are 1 to 65535, `at < out_size`
[[nodiscard]] constexpr ResizePosition resize_position(std::uint32_t at, std::uint32_t in_size,
                                                       std::uint32_t out_size) noexcept {
  // Twice the position plus 1, over twice the output's size: 17 + 16 + 12 bits.
  const std::uint64_t scaled = (2 * std::uint64_t{at} + 1) * in_size * kResizeOne;
  const std::uint64_t shifted = (scaled + out_size) / (2 * std::uint64_t{out_size});
  const std::uint64_t position = shifted < kResizeOne / 2 ? 0 : shifted - kResizeOne / 2;
  const auto whole = static_cast<std::uint32_t>(position >> kResizeBits);
  if (whole >= in_size - 1) {
    return {in_size - 1, in_size - 1, 0};
  }
  return {whole, whole + 1, static_cast<std::uint32_t>(position & (kResizeOne - 1))};
}

}  // namespace overlap
