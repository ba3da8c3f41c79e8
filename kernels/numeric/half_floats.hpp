#pragma once

#include <bit>
#include <cstdint>

namespace overlap {

/// IEEE 754 binary16, as bits.
struct Half {
  std::uint16_t bits;
};

/// The upper half of an f32, as bits.
struct Bfloat {
  std::uint16_t bits;
};

// Plain arithmetic and choices without branches, so that loops over them become vector code; the
// conversion instructions of the CPU round f64 to f32 first, which would round twice.

/// Exact.
[[gnu::always_inline]] inline double to_f64(Half half) noexcept {
  constexpr float kRebias = 0x1p112F;
  const auto magnitude = static_cast<std::uint32_t>(half.bits & 0x7fffU);
  const std::uint32_t scaled =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude << 13U) * kRebias);
  const std::uint32_t special = magnitude << 13U | 0x7f80'0000U;
  const std::uint32_t sign = static_cast<std::uint32_t>(half.bits & 0x8000U) << 16U;
  return static_cast<double>(
      std::bit_cast<float>((magnitude >= 0x7c00U ? special : scaled) | sign));
}

/// Exact.
[[gnu::always_inline]] inline double to_f64(Bfloat value) noexcept {
  return static_cast<double>(std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U));
}

/// Rounded to f32 such that what was lost can still be seen: a value that is not exact becomes that
/// neighbour whose last bit is set. Rounding that to a narrower float is as if it were done at once
/// (Boldo and Melquiond, "Emulation of FMA and correctly rounded sums", 2008).
[[gnu::always_inline]] inline std::uint32_t odd_f32_bits(double value) noexcept {
  const auto nearest = static_cast<float>(value);
  const auto bits = std::bit_cast<std::uint32_t>(nearest);
  const double back = static_cast<double>(nearest);
  const double magnitude = value < 0 ? -value : value;
  const double back_magnitude = back < 0 ? -back : back;
  const std::uint32_t other = magnitude > back_magnitude ? bits + 1 : bits - 1;
  // Ordered, so that a NaN stays what it is.
  const bool inexact = magnitude > back_magnitude || magnitude < back_magnitude;
  return inexact && bits % 2 == 0 ? other : bits;
}

/// To nearest, ties to even, once; beyond the range infinite, below it denormal.
[[gnu::always_inline]] inline Half to_half(double value) noexcept {
  const std::uint32_t bits = odd_f32_bits(value);
  const std::uint32_t sign = bits & 0x8000'0000U;
  const std::uint32_t magnitude = bits ^ sign;
  const std::uint32_t rounded = magnitude + (0xfffU + (magnitude >> 13U & 1U));
  // The exponent's bias goes from 127 to 15.
  const std::uint32_t normal = (rounded - 0x3800'0000U) >> 13U;
  // The sum's last place is the smallest denormal, so the addition rounds.
  const std::uint32_t denormal =
      std::bit_cast<std::uint32_t>(std::bit_cast<float>(magnitude) + 0.5F) - 0x3f00'0000U;
  const std::uint32_t special = magnitude > 0x7f80'0000U ? 0x7e00U : 0x7c00U;
  const std::uint32_t finite = magnitude < 0x3880'0000U ? denormal : normal;
  const std::uint32_t result = magnitude >= 0x4780'0000U ? special : finite;
  return {static_cast<std::uint16_t>(result | sign >> 16U)};
}

/// To nearest, ties to even, once; beyond the range infinite, below it denormal.
[[gnu::always_inline]] inline Bfloat to_bfloat(double value) noexcept {
  const std::uint32_t bits = odd_f32_bits(value);
  const std::uint32_t rounded = bits + (0x7fffU + (bits >> 16U & 1U));
  const bool is_nan = (bits & 0x7fff'ffffU) > 0x7f80'0000U;
  return {static_cast<std::uint16_t>((is_nan ? bits | 0x40'0000U : rounded) >> 16U)};
}

}  // namespace overlap
