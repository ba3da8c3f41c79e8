#include "kernels/imaging/gaussian_weights.hpp"

#include <algorithm>
#include <cmath>

namespace overlap {

std::uint32_t gaussian_radius(double sigma) noexcept {
  return std::min(static_cast<std::uint32_t>(std::ceil(3.0 * sigma)), kMaxBlurRadius);
}

GaussianWeights gaussian_weights(double sigma) noexcept {
  constexpr double kOne = 65'536.0;
  GaussianWeights weights{};
  weights.radius = gaussian_radius(sigma);
  const auto unscaled = [sigma](std::uint32_t k) {
    return std::exp(-(static_cast<double>(k) * k) / (2.0 * sigma * sigma));
  };
  double total = 1.0;
  for (std::uint32_t k = 1; k <= weights.radius; ++k) {
    total += 2.0 * unscaled(k);
  }
  std::uint32_t left = 65'536;
  for (std::uint32_t k = weights.radius; k >= 1; --k) {
    weights.taps[k] = static_cast<std::uint16_t>(std::floor(kOne * unscaled(k) / total + 0.5));
    left -= 2U * weights.taps[k];
  }
  if (left == 65'536) {
    // So narrow that it changes nothing. One part of 65536 at either side does not either.
    weights.taps[1] = 1;
    left -= 2;
  }
  weights.taps[0] = static_cast<std::uint16_t>(left);
  return weights;
}

}  // namespace overlap
