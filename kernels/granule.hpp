#pragma once

#include "kernels/kernel.hpp"

#include <cstdint>
#include <string_view>

namespace overlap {

/// Whether `input_bytes` is a whole number of granules; none at all counts.
/// @pre `granule_bytes` is not 0
[[nodiscard]] constexpr bool fits_granule(std::uint64_t input_bytes,
                                          std::uint64_t granule_bytes) noexcept {
  return input_bytes % granule_bytes == 0;
}

/// The refusal of an input that is no whole number of granules: it names both sizes, the surplus
/// and the nearest sizes that would do.
/// @param granule what one is, in words: `frame of 4 x 4 elements of 4 bytes`
/// @pre `!fits_granule(input_bytes, granule_bytes)`
[[nodiscard]] Refusal refuse_misfit(std::string_view kernel, std::string_view granule,
                                    std::uint64_t input_bytes, std::uint64_t granule_bytes);

}  // namespace overlap
