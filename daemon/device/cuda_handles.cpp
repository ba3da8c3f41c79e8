#include "daemon/device/cuda_handles.hpp"

#include "daemon/device/cuda_check.hpp"

#include <limits>
#include <string>

namespace overlap {
namespace {

/// Drops the result of a call in a destructor, and the runtime's memory of it.
void forget(cudaError_t code) noexcept {
  if (code != cudaSuccess) {
    (void)cudaGetLastError();
  }
}

}  // namespace

cudaError_t make_current(int device) noexcept {
  // Nothing else in a process of ours changes the current device, so the memory stays true.
  thread_local int current = std::numeric_limits<int>::min();
  if (current == device) {
    return cudaSuccess;
  }
  const cudaError_t code = cudaSetDevice(device);
  if (code == cudaSuccess) {
    current = device;
  }
  return code;
}

CudaStream::CudaStream(int priority) {
  OVERLAP_CUDA_CHECK(cudaStreamCreateWithPriority(&stream_, cudaStreamNonBlocking, priority),
                     "priority " + std::to_string(priority));
}

CudaStream& CudaStream::operator=(CudaStream&& other) noexcept {
  if (this != &other) {
    reset();
    stream_ = std::exchange(other.stream_, nullptr);
  }
  return *this;
}

void CudaStream::reset() noexcept {
  if (stream_ != nullptr) {
    forget(cudaStreamDestroy(std::exchange(stream_, nullptr)));
  }
}

CudaEvent::CudaEvent() {
  OVERLAP_CUDA_CHECK(cudaEventCreateWithFlags(&event_, cudaEventDisableTiming));
}

CudaEvent& CudaEvent::operator=(CudaEvent&& other) noexcept {
  if (this != &other) {
    reset();
    event_ = std::exchange(other.event_, nullptr);
  }
  return *this;
}

void CudaEvent::reset() noexcept {
  if (event_ != nullptr) {
    forget(cudaEventDestroy(std::exchange(event_, nullptr)));
  }
}

CudaMemoryPool::CudaMemoryPool(int device) {
  cudaMemPoolProps wanted{};
  wanted.allocType = cudaMemAllocationTypePinned;
  wanted.location.type = cudaMemLocationTypeDevice;
  wanted.location.id = device;
  OVERLAP_CUDA_CHECK(cudaMemPoolCreate(&pool_, &wanted), "device " + std::to_string(device));
  // Never hand memory back to the driver: that is what waits for running kernels.
  std::uint64_t keep_bytes = std::numeric_limits<std::uint64_t>::max();
  const cudaError_t code =
      cudaMemPoolSetAttribute(pool_, cudaMemPoolAttrReleaseThreshold, &keep_bytes);
  if (code != cudaSuccess) {
    reset();
  }
  OVERLAP_CUDA_CHECK(code, "cudaMemPoolSetAttribute, release threshold");
}

CudaMemoryPool& CudaMemoryPool::operator=(CudaMemoryPool&& other) noexcept {
  if (this != &other) {
    reset();
    pool_ = std::exchange(other.pool_, nullptr);
  }
  return *this;
}

void CudaMemoryPool::reset() noexcept {
  if (pool_ != nullptr) {
    forget(cudaMemPoolDestroy(std::exchange(pool_, nullptr)));
  }
}

}  // namespace overlap
