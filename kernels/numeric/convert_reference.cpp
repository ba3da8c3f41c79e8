#include "kernels/numeric/convert.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

namespace overlap {
namespace {

/// A float of 16 bits, by the numbers of its format.
struct Format {
  int fraction_bits;
  int bias;
  std::uint64_t infinity;
};

constexpr Format kHalf = {10, 15, 0x7c00};
constexpr Format kBfloat = {7, 127, 0x7f80};

template <class Number>
Number number_at(const std::byte* from) {
  Number number{};
  std::memcpy(&number, from, sizeof number);
  return number;
}

double decode(const Format& format, std::uint16_t bits) {
  const std::uint64_t magnitude = bits & 0x7fffU;
  const double sign = (bits & 0x8000U) != 0 ? -1 : 1;
  if (magnitude >= format.infinity) {
    return magnitude == format.infinity ? sign * std::numeric_limits<double>::infinity()
                                        : std::numeric_limits<double>::quiet_NaN();
  }
  const std::uint64_t one = 1ULL << static_cast<unsigned>(format.fraction_bits);
  const std::uint64_t exponent = magnitude / one;
  const std::uint64_t fraction = magnitude % one;
  const std::uint64_t steps = exponent == 0 ? fraction : fraction + one;
  const int power = static_cast<int>(std::max<std::uint64_t>(exponent, 1)) - format.bias;
  return sign * std::ldexp(static_cast<double>(steps), power - format.fraction_bits);
}

double nearest_even(double value) {
  const double below = std::floor(value);
  const double above_by = value - below;
  const bool up = above_by > 0.5 || (above_by == 0.5 && std::fmod(below, 2) != 0);
  return up ? below + 1 : below;
}

std::uint16_t encode(const Format& format, double value) {
  const auto sign = static_cast<std::uint16_t>(std::signbit(value) ? 0x8000U : 0U);
  if (std::isnan(value)) {
    return static_cast<std::uint16_t>(sign | 0x7fffU);
  }
  const double magnitude = std::fabs(value);
  if (std::isinf(value)) {
    return static_cast<std::uint16_t>(sign | format.infinity);
  }
  const int smallest = 1 - format.bias;
  const int power = magnitude == 0 ? smallest : std::max(std::ilogb(magnitude), smallest);
  // How many of the format's steps at this power: below 2^fraction_bits it is a denormal.
  const auto steps =
      static_cast<std::uint64_t>(nearest_even(std::ldexp(magnitude, format.fraction_bits - power)));
  // A number too large is beyond the format's exponents long before this could wrap.
  const auto exponents = static_cast<std::uint64_t>(power - smallest);
  const std::uint64_t bits = (exponents << static_cast<unsigned>(format.fraction_bits)) + steps;
  return static_cast<std::uint16_t>(sign | std::min(bits, format.infinity));
}

double value_at(ConvertType type, const std::byte* from) {
  switch (type) {
    case ConvertType::u8:
      return number_at<std::uint8_t>(from);
    case ConvertType::i16:
      return number_at<std::int16_t>(from);
    case ConvertType::i32:
      return number_at<std::int32_t>(from);
    case ConvertType::f16:
      return decode(kHalf, number_at<std::uint16_t>(from));
    case ConvertType::bf16:
      return decode(kBfloat, number_at<std::uint16_t>(from));
    case ConvertType::f32:
      return number_at<float>(from);
    default:
      return number_at<double>(from);
  }
}

template <class Integer>
void put_integer(double value, std::byte* to) {
  Integer result = 0;
  if (value <= static_cast<double>(std::numeric_limits<Integer>::min())) {
    result = std::numeric_limits<Integer>::min();
  } else if (value >= static_cast<double>(std::numeric_limits<Integer>::max())) {
    result = std::numeric_limits<Integer>::max();
  } else if (!std::isnan(value)) {
    result = static_cast<Integer>(nearest_even(value));
  }
  std::memcpy(to, &result, sizeof result);
}

template <class Number>
void put_number(Number number, std::byte* to) {
  std::memcpy(to, &number, sizeof number);
}

void put_value(ConvertType type, double value, std::byte* to) {
  switch (type) {
    case ConvertType::u8:
      return put_integer<std::uint8_t>(value, to);
    case ConvertType::i16:
      return put_integer<std::int16_t>(value, to);
    case ConvertType::i32:
      return put_integer<std::int32_t>(value, to);
    case ConvertType::f16:
      return put_number(encode(kHalf, value), to);
    case ConvertType::bf16:
      return put_number(encode(kBfloat, value), to);
    case ConvertType::f32:
      return put_number(static_cast<float>(value), to);
    default:
      return put_number(value, to);
  }
}

}  // namespace

std::uint64_t ConvertKernel::reference(const ReferenceJob& job) const {
  const auto from = static_cast<ConvertType>(job.params[0].choice_index);
  const auto to = static_cast<ConvertType>(job.params[1].choice_index);
  const double scale = job.params[2].f64;
  const double offset = job.params[3].f64;
  const std::uint64_t count = job.input.size() / element_bytes(from);
  for (std::uint64_t i = 0; i < count; ++i) {
    // Through memory, so that no compiler option can fuse the two roundings.
    const volatile double product = value_at(from, &job.input[i * element_bytes(from)]) * scale;
    const volatile double sum = offset == 0 ? product : product + offset;
    put_value(to, sum, &job.output[i * element_bytes(to)]);
  }
  return count * element_bytes(to);
}

}  // namespace overlap
