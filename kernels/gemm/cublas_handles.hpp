#pragma once

#include "kernels/gemm/cublas_library.hpp"
#include "kernels/gemm/gemm.hpp"

#include <map>
#include <mutex>
#include <optional>

namespace overlap {

/// Whether this build can launch products, given a cuBLAS where it runs.
[[nodiscard]] bool gemm_built_with_cuda() noexcept;

/// The current CUDA device of this thread. @return a `cudaError_t` value
[[nodiscard]] int current_gemm_device(int& device);

/// One handle of cuBLAS a device. Streams share it under one lock, which covers no more than the
/// calls that enqueue; every product works in its batch's memory. Thread safety: any.
class CublasHandles {
 public:
  CublasHandles() = default;
  CublasHandles(const CublasHandles&) = delete;
  CublasHandles& operator=(const CublasHandles&) = delete;
  ~CublasHandles();

  /// Opens cuBLAS and makes the handle of the current device. @return why it cannot be done
  [[nodiscard]] std::optional<Refusal> prepare();

  /// Enqueues the batch. @return as `Kernel::launch`
  [[nodiscard]] int launch(const GemmParams& wanted, const overlap_batch& batch, void* stream);

 private:
  /// Made at first use. @param[out] handle null if there is none
  /// @return cuBLAS's status
  int handle_of(const CublasLibrary& library, int device, CublasLibrary::Handle& handle);

  std::mutex mutex_;
  const CublasLibrary* library_ = nullptr;
  std::map<int, CublasLibrary::Handle> handles_;
};

}  // namespace overlap
