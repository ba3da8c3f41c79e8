#pragma once

#include "tests/bench/workload_layout.hpp"

#include <cstddef>
#include <memory>
#include <string>

namespace overlap::bench {

/// The vendor's library called alone, in one call, for the work of a whole batch. Restricted: one
/// thread.
class VendorCall {
 public:
  virtual ~VendorCall() = default;
  /// Enqueues it on a `cudaStream_t`. @throws std::runtime_error
  virtual void enqueue(void* stream) = 0;
};

/// A call, or why there is none; neither for a kernel that is not a vendor's.
struct VendorCallOrReason {
  std::unique_ptr<VendorCall> call;
  std::string why_not;
};

/// cuFFT for `fft` and cuBLAS for `gemm`, as the current device's, over the arena's own inputs, table
/// and outputs.
/// @param arena device memory, laid out as `layout` says
[[nodiscard]] VendorCallOrReason make_vendor_call(const Stage& stage, const WorkloadLayout& layout,
                                                  std::byte* arena);

}  // namespace overlap::bench
