#pragma once

#include <cstdint>

namespace overlap {

// Tensor cores multiply bytes, and a weight of a blur has two.

/// Four weights, as their lower bytes and as their upper ones.
struct WeightBytes {
  std::uint32_t low;
  std::uint32_t high;
};

/// @param weight_of a weight of 16 bits by its distance, which may be negative
template <class WeightOf>
[[nodiscard]] __device__ WeightBytes weight_bytes(const WeightOf& weight_of,
                                                  const std::int32_t (&distances)[4]) {
  WeightBytes bytes{0, 0};
#pragma unroll
  for (std::uint32_t i = 0; i < 4; ++i) {
    const std::uint32_t weight = weight_of(distances[i]);
    bytes.low |= (weight & 0xffU) << (8 * i);
    bytes.high |= (weight >> 8U) << (8 * i);
  }
  return bytes;
}

/// Four registers of a product's left side: see `multiply_add_bytes`.
struct LeftWeights {
  std::uint32_t low[4];
  std::uint32_t high[4];
};

/// What the lane holds of weights: result by position in a window, 16 by 32. Result 0 lies `before`
/// positions behind the beginning of the window of which this is part number `chunk`.
template <class WeightOf>
[[nodiscard]] __device__ LeftWeights left_weights(const WeightOf& weight_of, std::uint32_t lane,
                                                  std::int32_t chunk, std::int32_t before) {
  LeftWeights weights;
#pragma unroll
  for (std::int32_t part = 0; part < 4; ++part) {
    const std::int32_t result = static_cast<std::int32_t>(lane / 4) + part % 2 * 8;
    const std::int32_t position =
        32 * chunk + part / 2 * 16 + 4 * static_cast<std::int32_t>(lane % 4);
    const std::int32_t nearest = position - before - result;
    const WeightBytes bytes =
        weight_bytes(weight_of, {nearest, nearest + 1, nearest + 2, nearest + 3});
    weights.low[part] = bytes.low;
    weights.high[part] = bytes.high;
  }
  return weights;
}

}  // namespace overlap
