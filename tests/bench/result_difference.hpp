#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace overlap::bench {

/// Whether a GPU's result is the host's: bit for bit, but of `fft` and `gemm`, which add in another
/// order, within 1e-4 of the result's root mean square: more than gamma_k of the largest k here (1024),
/// and far less than what one wrong element makes of it. Pure; thread safety: any.
/// @return what is wrong, or nothing
[[nodiscard]] std::string result_difference(std::string_view kernel, std::span<const std::byte> got,
                                            std::span<const std::byte> expected);

}  // namespace overlap::bench
