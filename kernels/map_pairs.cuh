#pragma once

#include "kernels/batch_launch.cuh"

namespace overlap {

inline constexpr std::uint32_t kLoadPairsInFlight = kLoadsInFlight / 2;

/// Memory access for a single pass: nothing is read twice.
struct StreamingAccess {
  template <class Word>
  static __device__ Word load(const Word* from) {
    return __ldcs(from);
  }
  template <class Word>
  static __device__ void store(Word* to, Word word) {
    __stcs(to, word);
  }
};

/// `out[i] = map(a[i], b[i])` for `count` words, by all blocks in x, several loads in flight.
template <class Access, class Word, class Map>
__device__ void map_word_pairs(const Word* a, const Word* b, Word* out, std::uint64_t count,
                               const Map& map) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  for (std::uint64_t base = first; base < count; base += kLoadPairsInFlight * step) {
    Word from_a[kLoadPairsInFlight];
    Word from_b[kLoadPairsInFlight];
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadPairsInFlight; ++load) {
      if (base + load * step < count) {
        from_a[load] = Access::load(a + base + load * step);
        from_b[load] = Access::load(b + base + load * step);
      }
    }
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadPairsInFlight; ++load) {
      if (base + load * step < count) {
        Access::store(out + base + load * step, map(from_a[load], from_b[load]));
      }
    }
  }
}

/// The same for f32 arrays. The second of two arrays in one slot starts where the first ends, which
/// need not be a multiple of 16 bytes: then it is 4 bytes a thread and load.
/// @param map takes two `float` and two `float4`
template <class Access, class Map>
__device__ void map_float_pairs(const float* a, const float* b, float* out, std::uint64_t count,
                                const Map& map) {
  if (count % 4 == 0) {
    map_word_pairs<Access>(reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
                           reinterpret_cast<float4*>(out), count / 4, map);
  } else {
    map_word_pairs<Access>(a, b, out, count, map);
  }
}

}  // namespace overlap
