#include "kernels/numeric/scale.hpp"

#include <cmath>
#include <cstring>
#include <limits>
#include <type_traits>

namespace overlap {
namespace {

/// Both roundings are forced through memory, so that no compiler option can fuse them.
template <class Float>
Float multiply_then_add(Float a, Float x, Float b) {
  const volatile Float product = a * x;
  const volatile Float sum = product + b;
  return sum;
}

template <class Element>
Element scaled(Element x, double a, double b) {
  if constexpr (std::is_floating_point_v<Element>) {
    return multiply_then_add(static_cast<Element>(a), x, static_cast<Element>(b));
  } else {
    const double exact = multiply_then_add(a, static_cast<double>(x), b);
    if (exact <= static_cast<double>(std::numeric_limits<Element>::min())) {
      return std::numeric_limits<Element>::min();
    }
    if (exact >= static_cast<double>(std::numeric_limits<Element>::max())) {
      return std::numeric_limits<Element>::max();
    }
    const double below = std::floor(exact);
    const double above_by = exact - below;
    const auto lower = static_cast<std::int64_t>(below);
    const bool up = above_by > 0.5 || (above_by == 0.5 && lower % 2 != 0);
    return static_cast<Element>(up ? lower + 1 : lower);
  }
}

template <class Element>
std::uint64_t scale_all(std::span<const std::byte> input, std::span<std::byte> output, double a,
                        double b) {
  std::size_t offset_bytes = 0;
  for (; offset_bytes + sizeof(Element) <= input.size(); offset_bytes += sizeof(Element)) {
    Element x{};
    std::memcpy(&x, &input[offset_bytes], sizeof x);
    const Element y = scaled(x, a, b);
    std::memcpy(&output[offset_bytes], &y, sizeof y);
  }
  return offset_bytes;
}

}  // namespace

std::uint64_t ScaleKernel::reference(const ReferenceJob& job) const {
  const double a = job.params[0].f64;
  const double b = job.params[1].f64;
  switch (job.params[2].choice_index) {
    case 0:
      return scale_all<std::uint8_t>(job.input, job.output, a, b);
    case 1:
      return scale_all<std::int16_t>(job.input, job.output, a, b);
    case 2:
      return scale_all<std::int32_t>(job.input, job.output, a, b);
    case 3:
      return scale_all<float>(job.input, job.output, a, b);
    default:
      return scale_all<double>(job.input, job.output, a, b);
  }
}

}  // namespace overlap
