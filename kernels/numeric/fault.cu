#include "kernels/cuda_launch.hpp"
#include "kernels/numeric/fault.hpp"

#include <cuda_runtime.h>

#include <algorithm>

namespace overlap {
namespace {

constexpr std::uint32_t kThreads = 256;
constexpr std::uint32_t kMostBlocks = 65'535;

/// One block an item, read where the host wrote it: what a job needs to end badly, no other kernel
/// wants to know.
__global__ void __launch_bounds__(kThreads)
    end_badly_or_copy(const std::byte* items, std::uint32_t stride_bytes, std::uint32_t item_count,
                      FaultKind kind, std::int64_t byte) {
  for (std::uint32_t index = blockIdx.x; index < item_count; index += gridDim.x) {
    const auto& item =
        *reinterpret_cast<const overlap_batch_item*>(items + std::size_t{index} * stride_bytes);
    const std::uint64_t input_bytes = item.input_bytes;
    if (input_bytes == 0) {
      continue;
    }
    __shared__ std::uint8_t first_byte;
    const auto* const input = static_cast<const std::uint8_t*>(item.input);
    __syncthreads();  // everyone has looked at the item before
    if (threadIdx.x == 0) {
      first_byte = input[0];
    }
    __syncthreads();
    if (byte >= 0 && byte != first_byte) {
      auto* const output = static_cast<std::uint8_t*>(item.output);
      for (std::uint64_t at = threadIdx.x; at < input_bytes; at += kThreads) {
        output[at] = input[at];
      }
    } else if (threadIdx.x == 0) {
      switch (kind) {
        case FaultKind::too_small:
          *item.status = OVERLAP_ITEM_OUTPUT_TOO_SMALL;
          *item.output_bytes = item.output_capacity_bytes + 1;
          break;
        case FaultKind::trap:
          __trap();
          break;
        default:
          *item.status = OVERLAP_ITEM_FAILED;
      }
    }
  }
}

}  // namespace

int launch_fault(const overlap_batch& batch, OpaqueStream stream) {
  const FaultParams wanted = FaultParams::from({batch.params, batch.param_count});
  if (wanted.kind == FaultKind::launch || batch.device_items == nullptr) {
    return cudaErrorInvalidValue;
  }
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(std::min(batch.item_count, kMostBlocks));
  config.blockDim = dim3(kThreads);
  config.stream = static_cast<cudaStream_t>(stream);
  const cudaError_t status = cudaLaunchKernelEx(
      &config, end_badly_or_copy, reinterpret_cast<const std::byte*>(batch.device_items),
      batch.item_stride_bytes, batch.item_count, wanted.kind, wanted.byte);
  if (status != cudaSuccess) {
    (void)cudaGetLastError();  // also remembered by the runtime; an innocent call would report it
  }
  return status;
}

}  // namespace overlap
