#pragma once

#include "tests/kernels/awkward_input.hpp"

#include <algorithm>

namespace overlap::test {

/// Relative RMS error of f32 values: sqrt(sum |got - expected|^2 / sum |expected|^2).
[[nodiscard]] inline double relative_rms_error(std::span<const std::byte> got,
                                               std::span<const std::byte> expected) {
  const std::vector<float> a = elements_of<float>(got);
  const std::vector<float> b = elements_of<float>(expected);
  double error = 0;
  double power = 0;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const double difference = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    error += difference * difference;
    power += static_cast<double>(b[i]) * static_cast<double>(b[i]);
  }
  return error == 0 ? 0 : std::sqrt(error / power);
}

/// The bound that `fft` states for transforms of n points.
[[nodiscard]] inline double fft_tolerance(std::size_t n) {
  std::size_t rest = n;
  for (std::size_t factor = 2; factor <= 64; ++factor) {
    while (rest % factor == 0) {
      rest /= factor;
    }
  }
  const double tolerance = 0x1p-24 * (std::log2(static_cast<double>(n)) + 2);
  return rest == 1 ? tolerance : 4 * tolerance;
}

/// Every transform of `output_floats` by itself, so that none hides behind a louder one.
[[nodiscard]] inline Comparison close_transforms(std::size_t n, std::size_t output_floats) {
  return [n, output_floats](std::span<const std::byte> got,
                            std::span<const std::byte> expected) -> std::string {
    if (got.size() != expected.size()) {
      return std::to_string(got.size()) + " bytes instead of " + std::to_string(expected.size());
    }
    const std::size_t bytes = output_floats * sizeof(float);
    for (std::size_t at = 0; at < got.size(); at += bytes) {
      const double error = relative_rms_error(got.subspan(at, bytes), expected.subspan(at, bytes));
      // Written so that NaN is too large.
      if (!(error <= fft_tolerance(n))) {
        return "transform " + std::to_string(at / bytes) + " is off by " + std::to_string(error) +
               ", allowed is " + std::to_string(fft_tolerance(n));
      }
    }
    return {};
  };
}

/// `count` values between -1 and 1. The same for the same arguments.
[[nodiscard]] inline std::vector<std::byte> uniform_input(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::uniform_real_distribution<float> uniform(-1, 1);
  std::vector<float> values(count);
  std::ranges::generate(values, [&] { return uniform(random); });
  return bytes_of(values);
}

/// Each element of C = A * B against the bound that `gemm` states, for which A and B are needed.
[[nodiscard]] inline std::string gemm_difference(std::span<const std::byte> a,
                                                 std::span<const std::byte> b, std::size_t k,
                                                 std::size_t n, std::span<const std::byte> got) {
  const std::vector<float> left = elements_of<float>(a);
  const std::vector<float> right = elements_of<float>(b);
  const std::vector<float> product = elements_of<float>(got);
  const std::size_t m = left.size() / k;
  if (product.size() != m * n) {
    return std::to_string(product.size()) + " elements instead of " + std::to_string(m * n);
  }
  const double k_eps = static_cast<double>(k) * 0x1p-24;
  for (std::size_t i = 0; i < m * n; ++i) {
    double exact = 0;
    double magnitude = 0;
    for (std::size_t inner = 0; inner < k; ++inner) {
      const double term = static_cast<double>(left[i / n * k + inner]) *
                          static_cast<double>(right[inner * n + i % n]);
      exact += term;
      magnitude += std::abs(term);
    }
    const double error = std::abs(static_cast<double>(product[i]) - exact);
    if (!(error <= k_eps / (1 - k_eps) * magnitude)) {
      return "row " + std::to_string(i / n) + ", column " + std::to_string(i % n) + " is off by " +
             std::to_string(error);
    }
  }
  return {};
}

}  // namespace overlap::test
