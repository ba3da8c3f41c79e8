#include "kernels/batch_launch.cuh"
#include "kernels/fft/cufft_plans.hpp"
#include "kernels/fft/fft_cuda.hpp"

#include <cuda_runtime.h>

#include <algorithm>
#include <type_traits>

namespace overlap {
namespace {

constexpr std::uint32_t kThreads = 256;
/// More blocks than any GPU holds at once.
constexpr std::uint64_t kMostBlocks = 4096;

__global__ void __launch_bounds__(kThreads)
    multiply(float4* vectors, std::uint64_t vector_count, std::uint32_t rest, float factor) {
  const std::uint64_t first = std::uint64_t{blockIdx.x} * kThreads + threadIdx.x;
  for (std::uint64_t at = first; at < vector_count; at += std::uint64_t{gridDim.x} * kThreads) {
    const float4 from = vectors[at];
    vectors[at] = make_float4(from.x * factor, from.y * factor, from.z * factor, from.w * factor);
  }
  if (first < rest) {
    reinterpret_cast<float*>(vectors + vector_count)[first] *= factor;
  }
}

/// What a thread moves of an item in one go.
constexpr std::uint32_t kUnroll = 4;

[[nodiscard]] __device__ float scaled(float x, float factor) {
  return factor == 1.0F ? x : x * factor;  // as it is, if it is a NaN
}
[[nodiscard]] __device__ float2 scaled(float2 x, float factor) {
  return {scaled(x.x, factor), scaled(x.y, factor)};
}
[[nodiscard]] __device__ float4 scaled(float4 x, float factor) {
  return {scaled(x.x, factor), scaled(x.y, factor), scaled(x.z, factor), scaled(x.w, factor)};
}

/// Between items anywhere and one place where they lie side by side.
template <bool kJoin, class Vector, class Items>
__global__ void __launch_bounds__(kBlockThreads)
    move_items(const __grid_constant__ Items items, std::uint32_t item_count, Vector* joined,
               std::uint64_t item_vectors, float factor) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    Vector* const place = joined + index * item_vectors;
    const Vector* const from = kJoin ? static_cast<const Vector*>(item.input) : place;
    Vector* const to = kJoin ? place : static_cast<Vector*>(item.output);
    const std::uint64_t stride = std::uint64_t{gridDim.x} * kBlockThreads;
    std::uint64_t at = std::uint64_t{blockIdx.x} * kBlockThreads + threadIdx.x;
    for (; at < item_vectors; at += kUnroll * stride) {
      // All of them are loaded before the first is stored.
      Vector vectors[kUnroll];
#pragma unroll
      for (std::uint32_t i = 0; i < kUnroll; ++i) {
        if (at + i * stride < item_vectors) {
          vectors[i] = from[at + i * stride];
        }
      }
#pragma unroll
      for (std::uint32_t i = 0; i < kUnroll; ++i) {
        if (at + i * stride < item_vectors) {
          to[at + i * stride] = scaled(vectors[i], factor);
        }
      }
    }
  }
}

template <bool kJoin, class Vector>
int launch_move(const overlap_batch& batch, void* joined, std::uint64_t item_bytes, float factor,
                void* stream) {
  const std::uint64_t vectors = item_bytes / sizeof(Vector);
  return launch_batch(batch, stream, dim3(kBlockThreads), vectors, kBlockThreads * kUnroll,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, move_items<kJoin, Vector, Items>, items,
                                                  batch.item_count, static_cast<Vector*>(joined),
                                                  vectors, factor);
                      });
}

template <bool kJoin>
int launch_widest_move(const overlap_batch& batch, void* joined, std::uint64_t item_bytes,
                       float factor, void* stream) {
  if (item_bytes % sizeof(float4) == 0) {
    return launch_move<kJoin, float4>(batch, joined, item_bytes, factor, stream);
  }
  if (item_bytes % sizeof(float2) == 0) {
    return launch_move<kJoin, float2>(batch, joined, item_bytes, factor, stream);
  }
  return launch_move<kJoin, float>(batch, joined, item_bytes, factor, stream);
}

}  // namespace

bool fft_built_with_cuda() noexcept { return true; }

int current_cuda_device(int& device) { return cudaGetDevice(&device); }

int wait_for_cuda_device(int device) {
  int current = 0;
  cudaError_t status = cudaGetDevice(&current);
  if (status == cudaSuccess && current != device) {
    status = cudaSetDevice(device);
  }
  if (status == cudaSuccess) {
    status = cudaDeviceSynchronize();
    if (current != device) {
      (void)cudaSetDevice(current);
    }
  }
  return status;
}

int scale_floats(void* floats, std::uint64_t count, float factor, void* stream) {
  if (count == 0) {
    return cudaSuccess;
  }
  const std::uint64_t vectors = count / 4;
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<std::uint32_t>(
      std::clamp<std::uint64_t>((vectors + kThreads - 1) / kThreads, 1, kMostBlocks)));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t status =
      cudaLaunchKernelEx(&config, multiply, static_cast<float4*>(floats), vectors,
                         static_cast<std::uint32_t>(count % 4), factor);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // also remembered by the runtime; an innocent call would report it
  }
  return status;
}

int join_inputs(const overlap_batch& batch, void* joined, std::uint64_t item_bytes, void* stream) {
  return launch_widest_move<true>(batch, joined, item_bytes, 1.0F, stream);
}

int part_outputs(const overlap_batch& batch, const void* joined, std::uint64_t item_bytes,
                 float factor, void* stream) {
  return launch_widest_move<false>(batch, const_cast<void*>(joined), item_bytes, factor, stream);
}

}  // namespace overlap
