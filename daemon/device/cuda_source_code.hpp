#pragma once

#include "daemon/device/source_toolchain.hpp"

#include <cuda_runtime_api.h>

#include <cstdint>
#include <string>
#include <utility>

namespace overlap {

/// Owns a library of code on the GPU; move-only, and a moved-from one is empty. Errors of giving it
/// back are ignored: the context may be lost.
class CudaCodeLibrary {
 public:
  /// On the current device. @throws CudaError
  explicit CudaCodeLibrary(const std::string& image);
  CudaCodeLibrary(CudaCodeLibrary&& other) noexcept
      : library_(std::exchange(other.library_, nullptr)) {}
  CudaCodeLibrary& operator=(CudaCodeLibrary&&) = delete;
  CudaCodeLibrary(const CudaCodeLibrary&) = delete;
  CudaCodeLibrary& operator=(const CudaCodeLibrary&) = delete;
  ~CudaCodeLibrary();

  [[nodiscard]] cudaLibrary_t get() const noexcept { return library_; }

 private:
  cudaLibrary_t library_ = nullptr;
};

/// A source kernel's code on a GPU.
class CudaSourceCode final : public SourceCode {
 public:
  /// On the current device, which launches it. The code is there when this returns: the first launch
  /// waits for nothing.
  /// @throws CudaError
  /// @throws std::runtime_error if the shape has more threads than the code's registers allow
  CudaSourceCode(const CompiledSource& compiled, const SourceShape& shape);

  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;

 private:
  CudaCodeLibrary library_;
  SourceShape shape_;
  cudaKernel_t kernel_ = nullptr;
  std::uint64_t resident_threads_ = 0;
};

}  // namespace overlap
