#pragma once

#include <array>
#include <cstdint>

namespace overlap {

/// Limits of `sigma`, pixels.
inline constexpr double kMinSigma = 0.1;
inline constexpr double kMaxSigma = 50.0;
/// ceil(3 * 50).
inline constexpr std::uint32_t kMaxBlurRadius = 150;

/// One half of a symmetric Gaussian, the middle first, in 1/65536. All 2 * radius + 1 of them add up
/// to 65536, and none is larger than 65534, so that two bytes hold each.
struct GaussianWeights {
  std::uint32_t radius;
  std::array<std::uint16_t, kMaxBlurRadius + 1> taps;
};

/// ceil(3 sigma), pixels: taps on either side of the middle.
/// @pre `sigma` is within the limits
[[nodiscard]] std::uint32_t gaussian_radius(double sigma) noexcept;

/// exp(-k^2 / (2 sigma^2)) for |k| up to ceil(3 sigma), normalised in f64, each rounded to 1/65536;
/// the middle takes what is left. Together they are off by at most 2 * radius / 65536.
/// @pre `sigma` is within the limits
[[nodiscard]] GaussianWeights gaussian_weights(double sigma) noexcept;

}  // namespace overlap
