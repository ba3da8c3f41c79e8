#include "kernels/batch_launch.cuh"

#include "kernels/cuda_launch.hpp"

#include <array>
#include <atomic>

namespace overlap {

bool built_with_cuda() noexcept { return true; }

cudaError_t multiprocessor_count(std::uint32_t& count) {
  constexpr std::size_t kCachedDevices = 64;
  // A fact of the machine, 0 while unknown; two threads that ask at once store the same number.
  static std::array<std::atomic<std::uint32_t>, kCachedDevices> cached{};
  int device = 0;
  if (const cudaError_t status = cudaGetDevice(&device); status != cudaSuccess) {
    return status;
  }
  const auto index = static_cast<std::size_t>(device);
  if (index < kCachedDevices) {
    count = cached[index].load(std::memory_order_relaxed);
    if (count != 0) {
      return cudaSuccess;
    }
  }
  int asked = 0;
  const cudaError_t status = cudaDeviceGetAttribute(&asked, cudaDevAttrMultiProcessorCount, device);
  count = static_cast<std::uint32_t>(std::max(asked, 1));
  if (status == cudaSuccess && index < kCachedDevices) {
    cached[index].store(count, std::memory_order_relaxed);
  }
  return status;
}

}  // namespace overlap
