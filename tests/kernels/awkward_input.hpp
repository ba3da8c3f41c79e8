#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <functional>
#include <limits>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace overlap::test {

/// How the bytes of a test array are to be read.
enum class ElementKind : std::uint8_t { u8, i16, i32, f32, f64, f16, bf16 };

[[nodiscard]] constexpr std::size_t element_bytes(ElementKind kind) {
  constexpr std::size_t kBytes[] = {1, 2, 4, 4, 8, 2, 2};
  return kBytes[static_cast<std::size_t>(kind)];
}

/// Element counts around every vector width and block size, and one large odd one.
inline constexpr std::size_t kAwkwardCounts[] = {1,  2,  3,   7,   15,   16,   17,
                                                 31, 33, 255, 257, 1023, 4097, 262'145};

/// Values that arithmetic gets wrong first.
template <class Float>
[[nodiscard]] std::vector<Float> awkward_floats() {
  using Limits = std::numeric_limits<Float>;
  return {Limits::quiet_NaN(),   Limits::infinity(), -Limits::infinity(), Limits::denorm_min(),
          -Limits::denorm_min(), Limits::min() / 3,  Limits::max(),       Limits::lowest(),
          Limits::epsilon(),     Float{0},           -Float{0},           Float{1},
          Float(-1.5),           Float(0.1),         Float(16'777'217),   Float(1e30)};
}

template <class Float>
void plant_awkward_floats(std::vector<std::byte>& bytes) {
  const std::vector<Float> values = awkward_floats<Float>();
  std::size_t next = 0;
  // Every third element, so that each meets random neighbours and every vector lane in turn.
  for (std::size_t at = 0; at + sizeof(Float) <= bytes.size(); at += 3 * sizeof(Float)) {
    std::memcpy(&bytes[at], &values[next++ % values.size()], sizeof(Float));
  }
}

/// `count` elements of random bits, for floats with awkward values among them. The same for the
/// same arguments.
[[nodiscard]] inline std::vector<std::byte> awkward_input(ElementKind kind, std::size_t count,
                                                          std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count * element_bytes(kind));
  for (std::byte& byte : bytes) {
    byte = static_cast<std::byte>(random() & 0xffU);
  }
  if (kind == ElementKind::f32) {
    plant_awkward_floats<float>(bytes);
  } else if (kind == ElementKind::f64) {
    plant_awkward_floats<double>(bytes);
  }
  return bytes;
}

/// `count` finite floats of both signs and many magnitudes, for sums that are numbers in the end.
template <class Float>
[[nodiscard]] std::vector<std::byte> finite_input(std::size_t count, std::uint32_t seed = 1) {
  std::mt19937 random(seed);
  std::vector<std::byte> bytes(count * sizeof(Float));
  for (std::size_t i = 0; i < count; ++i) {
    const auto fraction = static_cast<double>(random()) / 0x1p31 - 1.0;
    const auto value =
        static_cast<Float>(std::ldexp(fraction, static_cast<int>(random() % 40) - 20));
    std::memcpy(&bytes[i * sizeof(Float)], &value, sizeof value);
  }
  return bytes;
}

template <class Element>
[[nodiscard]] bool same_bits_or_both_nan(const std::byte* left, const std::byte* right) {
  Element a{};
  Element b{};
  std::memcpy(&a, left, sizeof a);
  std::memcpy(&b, right, sizeof b);
  return std::memcmp(left, right, sizeof a) == 0 || (std::isnan(a) && std::isnan(b));
}

/// For the bits of a float of 16 bits, whose infinity has the bits `infinity`.
[[nodiscard]] inline bool same_bits_or_both_nan(std::uint16_t infinity, const std::byte* left,
                                                const std::byte* right) {
  std::uint16_t a{};
  std::uint16_t b{};
  std::memcpy(&a, left, sizeof a);
  std::memcpy(&b, right, sizeof b);
  return a == b || ((a & 0x7fffU) > infinity && (b & 0x7fffU) > infinity);
}

/// Where two arrays differ first, NaN payloads aside; empty if nowhere.
[[nodiscard]] inline std::string first_difference(ElementKind kind, std::span<const std::byte> got,
                                                  std::span<const std::byte> expected) {
  if (got.size() != expected.size()) {
    return std::to_string(got.size()) + " bytes instead of " + std::to_string(expected.size());
  }
  const std::size_t width = element_bytes(kind);
  for (std::size_t at = 0; at < got.size(); at += width) {
    const std::byte* const a = &got[at];
    const std::byte* const b = &expected[at];
    const bool same = kind == ElementKind::f32    ? same_bits_or_both_nan<float>(a, b)
                      : kind == ElementKind::f64  ? same_bits_or_both_nan<double>(a, b)
                      : kind == ElementKind::f16  ? same_bits_or_both_nan(0x7c00, a, b)
                      : kind == ElementKind::bf16 ? same_bits_or_both_nan(0x7f80, a, b)
                                                  : std::memcmp(a, b, width) == 0;
    if (!same) {
      return "element " + std::to_string(at / width) + " of " + std::to_string(got.size() / width) +
             " differs";
    }
  }
  return {};
}

/// Says where two outputs differ; empty where they do not.
using Comparison =
    std::function<std::string(std::span<const std::byte> got, std::span<const std::byte> expected)>;

[[nodiscard]] inline Comparison same_elements(ElementKind kind) {
  return [kind](std::span<const std::byte> got, std::span<const std::byte> expected) {
    return first_difference(kind, got, expected);
  };
}

/// Elements as bytes and back, for hand-written vectors.
template <class Element>
[[nodiscard]] std::vector<std::byte> bytes_of(const std::vector<Element>& elements) {
  const auto bytes = std::as_bytes(std::span(elements));
  return {bytes.begin(), bytes.end()};
}

template <class Element>
[[nodiscard]] std::vector<Element> elements_of(std::span<const std::byte> bytes) {
  std::vector<Element> elements(bytes.size() / sizeof(Element));
  if (!elements.empty()) {
    std::memcpy(elements.data(), bytes.data(), elements.size() * sizeof(Element));
  }
  return elements;
}

}  // namespace overlap::test
