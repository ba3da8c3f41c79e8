#include "tests/bench/result_difference.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace overlap::bench {
namespace {

constexpr double kTolerance = 1e-4;

float float_at(std::span<const std::byte> bytes, std::size_t index) {
  float value = 0;
  std::memcpy(&value, bytes.data() + index * sizeof value, sizeof value);
  return value;
}

/// The largest error, as a share of the expected values' root mean square.
double largest_error(std::span<const std::byte> got, std::span<const std::byte> expected) {
  const std::size_t count = expected.size() / sizeof(float);
  double squares = 0;
  double largest = 0;
  for (std::size_t index = 0; index < count; ++index) {
    const double value = float_at(expected, index);
    const double error = std::abs(float_at(got, index) - value);
    if (std::isnan(error)) {
      return std::numeric_limits<double>::infinity();
    }
    squares += value * value;
    largest = std::max(largest, error);
  }
  return largest == 0 ? 0 : largest / std::sqrt(squares / static_cast<double>(count));
}

}  // namespace

std::string result_difference(std::string_view kernel, std::span<const std::byte> got,
                              std::span<const std::byte> expected) {
  if (got.size() != expected.size()) {
    return std::to_string(got.size()) + " bytes instead of " + std::to_string(expected.size());
  }
  if (kernel == "fft" || kernel == "gemm") {
    const double error = largest_error(got, expected);
    return error <= kTolerance
               ? ""
               : "an error of " + std::to_string(error) + " of the result's root mean square";
  }
  const auto differs = std::ranges::mismatch(got, expected);
  return differs.in1 == got.end()
             ? ""
             : "byte " + std::to_string(differs.in1 - got.begin()) + " is another";
}

}  // namespace overlap::bench
