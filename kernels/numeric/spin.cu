#include "kernels/batch_launch.cuh"
#include "kernels/cuda_launch.hpp"

namespace overlap {
namespace {

constexpr std::uint32_t kSpinThreads = 1024;
constexpr std::uint32_t kVectorsInFlight = 4;

__device__ std::uint64_t nanoseconds() {
  std::uint64_t now = 0;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now) : : "memory");
  return now;
}

/// By one block.
__device__ void copy_item(const ItemView& item) {
  const auto* const input = static_cast<const uint4*>(item.input);
  auto* const output = static_cast<uint4*>(item.output);
  const std::uint64_t vectors = item.input_bytes / sizeof(uint4);
  for (std::uint64_t base = threadIdx.x; base < vectors; base += kVectorsInFlight * kSpinThreads) {
    uint4 loaded[kVectorsInFlight];
#pragma unroll
    for (std::uint32_t load = 0; load < kVectorsInFlight; ++load) {
      if (base + load * kSpinThreads < vectors) {
        loaded[load] = __ldcs(input + base + load * kSpinThreads);
      }
    }
#pragma unroll
    for (std::uint32_t load = 0; load < kVectorsInFlight; ++load) {
      if (base + load * kSpinThreads < vectors) {
        __stcs(output + base + load * kSpinThreads, loaded[load]);
      }
    }
  }
  const std::uint64_t done = vectors * sizeof(uint4);
  if (threadIdx.x < item.input_bytes - done) {
    static_cast<std::uint8_t*>(item.output)[done + threadIdx.x] =
        static_cast<const std::uint8_t*>(item.input)[done + threadIdx.x];
  }
}

/// One block an item.
template <class Items>
__global__ void __launch_bounds__(kSpinThreads)
    spin_then_copy(const __grid_constant__ Items items, std::uint32_t item_count,
                   std::uint64_t duration_ns) {
  for (std::uint32_t index = blockIdx.y; index < item_count; index += gridDim.y) {
    const ItemView item = items.for_block(index);
    if (item.input_bytes == 0) {
      continue;
    }
    if (threadIdx.x == 0) {
      const std::uint64_t start = nanoseconds();
      while (nanoseconds() - start < duration_ns) {
      }
    }
    __syncthreads();
    copy_item(item);
  }
}

}  // namespace

int launch_spin(const overlap_batch& batch, OpaqueStream stream) {
  const std::uint64_t duration_ns = static_cast<std::uint64_t>(batch.params[0].i64) * 1000;
  return launch_batch(batch, stream, dim3(kSpinThreads), 1, 1,
                      [&](const cudaLaunchConfig_t& config, const auto& items) {
                        using Items = std::decay_t<decltype(items)>;
                        return cudaLaunchKernelEx(&config, spin_then_copy<Items>, items,
                                                  batch.item_count, duration_ns);
                      });
}

}  // namespace overlap
