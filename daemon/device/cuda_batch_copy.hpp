#pragma once

#include "daemon/device/device.hpp"

#include <cuda_runtime_api.h>

#include <cstddef>
#include <span>
#include <vector>

namespace overlap {

/// Many copies in one direction in as few calls as toolkit and driver allow: one
/// (`cudaMemcpyBatchAsync`, from 12.8 on), which leaves the copy engine no gaps between them, or one
/// each. Restricted: one thread.
class CudaBatchCopy {
 public:
  /// Asks the driver once what it can do.
  CudaBatchCopy();

  /// Whether many copies are one call.
  [[nodiscard]] bool is_batched() const noexcept { return is_batched_; }

  /// Enqueues the copies; they run in any order among themselves. Empty ranges are left out.
  /// @pre no range overlaps another; each lies within one pinned range
  [[nodiscard]] cudaError_t enqueue(std::span<const CopyRange> ranges, cudaMemcpyKind kind,
                                    cudaStream_t stream);

 private:
  [[nodiscard]] cudaError_t enqueue_batch(cudaStream_t stream);

  bool is_batched_;
  // Kept, so that a batch allocates nothing.
  std::vector<void*> destinations_;
  std::vector<const void*> sources_;
  std::vector<std::size_t> sizes_;
};

}  // namespace overlap
