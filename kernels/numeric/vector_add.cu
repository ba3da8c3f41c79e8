#include "kernels/cuda_launch.hpp"
#include "kernels/map_pairs.cuh"
#include "kernels/numeric/vector_add.hpp"

namespace overlap {
namespace {

/// Memory access for repeated passes: volatile, so that neither the compiler nor the assembler
/// may keep a value in a register from one pass to the next or leave a store out.
struct RepeatingAccess {
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

struct Sum {
  __device__ float operator()(float a, float b) const { return __fadd_rn(a, b); }
  __device__ float4 operator()(float4 a, float4 b) const {
    return {__fadd_rn(a.x, b.x), __fadd_rn(a.y, b.y), __fadd_rn(a.z, b.z), __fadd_rn(a.w, b.w)};
  }
};

template <class Access, class Items>
__global__ void __launch_bounds__(kBlockThreads)
    add_arrays(const __grid_constant__ Items items, std::uint32_t item_count, std::int64_t repeat) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = item.input_bytes / (2 * sizeof(float));
    const auto* const a = static_cast<const float*>(item.input);
    for (std::int64_t pass = 0; pass < repeat; ++pass) {
      map_float_pairs<Access>(a, a + count, static_cast<float*>(item.output), count, Sum{});
    }
  }
}

template <class Access>
int launch_with(const overlap_batch& batch, OpaqueStream stream, std::int64_t repeat) {
  return launch_batch(batch, stream, dim3(kBlockThreads),
                      batch.max_input_bytes / (2 * sizeof(float4)), kBlockThreads,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, add_arrays<Access, Items>, items,
                                                  batch.item_count, repeat);
                      });
}

}  // namespace

int launch_vector_add(const overlap_batch& batch, OpaqueStream stream) {
  const VectorAddParams wanted = VectorAddParams::from({batch.params, batch.param_count});
  return wanted.repeat == 1 ? launch_with<StreamingAccess>(batch, stream, wanted.repeat)
                            : launch_with<RepeatingAccess>(batch, stream, wanted.repeat);
}

}  // namespace overlap
