#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <utility>

namespace overlap {

// One class, one handle: move-only, a moved-from object is empty. Destructors never throw and ignore
// errors, because the context may be lost or the runtime unloading by then.

/// Makes `device` current for the calling thread. Remembered per thread, so that a repeated call
/// costs no system or driver call. Thread safety: any.
[[nodiscard]] cudaError_t make_current(int device) noexcept;

/// Owns a stream that never waits for the default stream.
class CudaStream {
 public:
  /// On the current device. @throws CudaError
  CudaStream() : CudaStream(0) {}
  /// @param priority as `cudaDeviceGetStreamPriorityRange` counts: lower goes first
  /// @throws CudaError
  explicit CudaStream(int priority);
  CudaStream(CudaStream&& other) noexcept : stream_(std::exchange(other.stream_, nullptr)) {}
  CudaStream& operator=(CudaStream&& other) noexcept;
  CudaStream(const CudaStream&) = delete;
  CudaStream& operator=(const CudaStream&) = delete;
  ~CudaStream() { reset(); }

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  void reset() noexcept;

  cudaStream_t stream_ = nullptr;
};

/// Borrows a stream. Neither 0 nor null converts, so the default stream cannot slip in.
class CudaStreamRef {
 public:
  // Implicit: lending is what it is for.
  CudaStreamRef(const CudaStream& stream) noexcept : stream_(stream.get()) {}
  CudaStreamRef(int) = delete;
  CudaStreamRef(std::nullptr_t) = delete;

  [[nodiscard]] cudaStream_t get() const noexcept { return stream_; }

 private:
  cudaStream_t stream_;
};

/// Owns an event that times nothing: recording one that does costs eight times as much.
class CudaEvent {
 public:
  /// On the current device. @throws CudaError
  CudaEvent();
  CudaEvent(CudaEvent&& other) noexcept : event_(std::exchange(other.event_, nullptr)) {}
  CudaEvent& operator=(CudaEvent&& other) noexcept;
  CudaEvent(const CudaEvent&) = delete;
  CudaEvent& operator=(const CudaEvent&) = delete;
  ~CudaEvent() { reset(); }

  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

 private:
  void reset() noexcept;

  cudaEvent_t event_ = nullptr;
};

/// Borrows an event.
class CudaEventRef {
 public:
  // Implicit: lending is what it is for.
  CudaEventRef(const CudaEvent& event) noexcept : event_(event.get()) {}
  CudaEventRef(int) = delete;
  CudaEventRef(std::nullptr_t) = delete;

  [[nodiscard]] cudaEvent_t get() const noexcept { return event_; }

 private:
  cudaEvent_t event_;
};

/// Owns a pool of device memory that keeps what is released to it; or nothing, where the device has
/// no pools.
class CudaMemoryPool {
 public:
  CudaMemoryPool() noexcept = default;
  /// @throws CudaError
  explicit CudaMemoryPool(int device);
  CudaMemoryPool(CudaMemoryPool&& other) noexcept : pool_(std::exchange(other.pool_, nullptr)) {}
  CudaMemoryPool& operator=(CudaMemoryPool&& other) noexcept;
  CudaMemoryPool(const CudaMemoryPool&) = delete;
  CudaMemoryPool& operator=(const CudaMemoryPool&) = delete;
  ~CudaMemoryPool() { reset(); }

  [[nodiscard]] cudaMemPool_t get() const noexcept { return pool_; }
  [[nodiscard]] explicit operator bool() const noexcept { return pool_ != nullptr; }

 private:
  void reset() noexcept;

  cudaMemPool_t pool_ = nullptr;
};

}  // namespace overlap
