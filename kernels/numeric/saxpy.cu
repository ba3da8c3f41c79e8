#include "kernels/cuda_launch.hpp"
#include "kernels/map_pairs.cuh"

namespace overlap {
namespace {

/// The intrinsics round each step to nearest and are never fused.
struct Saxpy {
  float a;
  __device__ float operator()(float x, float y) const { return __fadd_rn(__fmul_rn(a, x), y); }
  __device__ float4 operator()(float4 x, float4 y) const {
    return {(*this)(x.x, y.x), (*this)(x.y, y.y), (*this)(x.z, y.z), (*this)(x.w, y.w)};
  }
};

template <class Items>
__global__ void __launch_bounds__(kBlockThreads)
    add_scaled_arrays(const __grid_constant__ Items items, std::uint32_t item_count, Saxpy saxpy) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    const std::uint64_t count = item.input_bytes / (2 * sizeof(float));
    const auto* const x = static_cast<const float*>(item.input);
    map_float_pairs<StreamingAccess>(x, x + count, static_cast<float*>(item.output), count, saxpy);
  }
}

}  // namespace

int launch_saxpy(const overlap_batch& batch, OpaqueStream stream) {
  const Saxpy saxpy{static_cast<float>(batch.params[0].f64)};
  return launch_batch(batch, stream, dim3(kBlockThreads),
                      batch.max_input_bytes / (2 * sizeof(float4)), kBlockThreads,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, add_scaled_arrays<Items>, items,
                                                  batch.item_count, saxpy);
                      });
}

}  // namespace overlap
