#include "kernels/fft/cufft_plans.hpp"
#include "kernels/fft/fft_cuda.hpp"

#include <cuda_runtime.h>

#include <algorithm>

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

}  // namespace

bool fft_built_with_cuda() noexcept { return true; }

int current_cuda_device(int& device) { return cudaGetDevice(&device); }

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

}  // namespace overlap
