#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"
#include "kernels/numeric/vector_add.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kLoadPairsInFlight = kLoadsInFlight / 2;

/// Memory access for a single pass: nothing is read twice.
struct Streaming {
  template <class Word>
  static __device__ Word load(const Word* from) {
    return __ldcs(from);
  }
  template <class Word>
  static __device__ void store(Word* to, Word word) {
    __stcs(to, word);
  }
};

/// Memory access for repeated passes: volatile, so that neither the compiler nor the assembler
/// may keep a value in a register from one pass to the next or leave a store out.
struct Repeating {
  static __device__ float4 load(const float4* from) {
    float4 word;
    asm volatile("ld.volatile.global.v4.f32 {%0, %1, %2, %3}, [%4];"
                 : "=f"(word.x), "=f"(word.y), "=f"(word.z), "=f"(word.w)
                 : "l"(__cvta_generic_to_global(from))
                 : "memory");
    return word;
  }
  static __device__ void store(float4* to, float4 word) {
    asm volatile("st.volatile.global.v4.f32 [%0], {%1, %2, %3, %4};"
                 :
                 : "l"(__cvta_generic_to_global(to)), "f"(word.x), "f"(word.y), "f"(word.z),
                   "f"(word.w)
                 : "memory");
  }
  static __device__ float load(const float* from) {
    return *static_cast<const volatile float*>(from);
  }
  static __device__ void store(float* to, float word) { *static_cast<volatile float*>(to) = word; }
};

__device__ float sum(float a, float b) { return __fadd_rn(a, b); }

__device__ float4 sum(float4 a, float4 b) {
  return {sum(a.x, b.x), sum(a.y, b.y), sum(a.z, b.z), sum(a.w, b.w)};
}

/// One pass over `count` words, several loads in flight.
template <class Memory, class Word>
__device__ void add_words(const Word* a, const Word* b, Word* out, std::uint64_t count) {
  const std::uint64_t step = std::uint64_t{gridDim.x} * kBlockThreads;
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
  for (std::uint64_t base = first; base < count; base += kLoadPairsInFlight * step) {
    Word from_a[kLoadPairsInFlight];
    Word from_b[kLoadPairsInFlight];
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadPairsInFlight; ++load) {
      if (base + load * step < count) {
        from_a[load] = Memory::load(a + base + load * step);
        from_b[load] = Memory::load(b + base + load * step);
      }
    }
#pragma unroll
    for (std::uint32_t load = 0; load < kLoadPairsInFlight; ++load) {
      if (base + load * step < count) {
        Memory::store(out + base + load * step, sum(from_a[load], from_b[load]));
      }
    }
  }
}

template <class Memory, class Items>
__global__ void __launch_bounds__(kBlockThreads)
    add_arrays(const __grid_constant__ Items items, std::uint32_t item_count, std::int64_t repeat) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = item.input_bytes / (2 * sizeof(float));
    const auto* const a = static_cast<const float*>(item.input);
    const float* const b = a + count;
    auto* const out = static_cast<float*>(item.output);
    // The second array starts where the first ends, which need not be a multiple of 16 bytes.
    if (count % 4 == 0) {
      for (std::int64_t pass = 0; pass < repeat; ++pass) {
        add_words<Memory>(reinterpret_cast<const float4*>(a), reinterpret_cast<const float4*>(b),
                          reinterpret_cast<float4*>(out), count / 4);
      }
    } else {
      for (std::int64_t pass = 0; pass < repeat; ++pass) {
        add_words<Memory>(a, b, out, count);
      }
    }
  }
}

template <class Memory>
int launch_with(const overlap_batch& batch, OpaqueStream stream, std::int64_t repeat) {
  return launch_batch(batch, stream, dim3(kBlockThreads),
                      batch.max_input_bytes / (2 * sizeof(float4)), kBlockThreads,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, add_arrays<Memory, Items>, items,
                                                  batch.item_count, repeat);
                      });
}

}  // namespace

int launch_vector_add(const overlap_batch& batch, OpaqueStream stream) {
  const VectorAddParams wanted = VectorAddParams::from({batch.params, batch.param_count});
  return wanted.repeat == 1 ? launch_with<Streaming>(batch, stream, wanted.repeat)
                            : launch_with<Repeating>(batch, stream, wanted.repeat);
}

}  // namespace overlap
