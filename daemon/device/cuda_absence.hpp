#pragma once

#include <optional>
#include <string>

namespace overlap {

/// What was found where a GPU was looked for.
struct CudaAbsence {
  /// A `cudaError_t` value, and what failed with it: the text of the `CudaError`.
  int code = 0;
  std::string what;
  /// As `cudaDriverGetVersion` and `cudaRuntimeGetVersion` give them (13000 is 13.0); 0: no driver.
  int driver_version = 0;
  int runtime_version = 0;
  /// `CUDA_VISIBLE_DEVICES`, if it is set.
  std::optional<std::string> visible_devices;
};

/// One sentence: what failed, what that means here, and what to do about it.
[[nodiscard]] std::string why_no_cuda(const CudaAbsence& absence);

}  // namespace overlap
