#pragma once

#include <cuda_runtime_api.h>

#include <stdexcept>
#include <string>
#include <string_view>

namespace overlap {

/// A CUDA call that failed while something was being built. After that, errors are values.
class CudaError : public std::runtime_error {
 public:
  CudaError(cudaError_t code, const std::string& text) : std::runtime_error(text), code_(code) {}

  [[nodiscard]] cudaError_t code() const noexcept { return code_; }

 private:
  cudaError_t code_;
};

/// @param call the call as written
/// @param inputs what it was called with, in words; may be empty
/// @throws CudaError unless `code` is `cudaSuccess`; the runtime then no longer remembers the error
void throw_unless_success(cudaError_t code, std::string_view call, std::string_view inputs = {});

}  // namespace overlap

/// Captures the text of a CUDA call for `throw_unless_success`. For construction only.
#define OVERLAP_CUDA_CHECK(call, ...) \
  ::overlap::throw_unless_success((call), #call __VA_OPT__(, ) __VA_ARGS__)
