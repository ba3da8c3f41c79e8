#include "kernels/cuda_launch.hpp"

#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

namespace overlap {
namespace {

constexpr std::uint32_t kThreads = 128;

__global__ void pass_sizes(std::byte* items, std::uint32_t stride_bytes, std::uint32_t item_count) {
  const std::uint32_t index = blockIdx.x * kThreads + threadIdx.x;
  if (index >= item_count) {
    return;
  }
  const auto* const made =
      reinterpret_cast<const overlap_batch_item*>(items + std::size_t{index} * stride_bytes);
  auto* const next = reinterpret_cast<overlap_batch_item*>(
      items + (std::size_t{item_count} + index) * stride_bytes);
  const bool ran = made->input_bytes != 0 && *made->status == OVERLAP_ITEM_OK;
  const std::uint64_t bytes = ran ? *made->output_bytes : 0;
  next->input_bytes = bytes < made->output_capacity_bytes ? bytes : made->output_capacity_bytes;
}

}  // namespace

int launch_pass_sizes(const overlap_batch& batch, OpaqueStream stream) {
  if (batch.device_items == nullptr) {
    return cudaErrorInvalidValue;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3((batch.item_count + kThreads - 1) / kThreads);
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  auto* const items =
      reinterpret_cast<std::byte*>(const_cast<overlap_batch_item*>(batch.device_items));
  const cudaError_t status =
      cudaLaunchKernelEx(&config, pass_sizes, items, batch.item_stride_bytes, batch.item_count);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();
  }
  return status;
}

}  // namespace overlap
