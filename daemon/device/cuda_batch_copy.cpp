#include "daemon/device/cuda_batch_copy.hpp"

namespace overlap {
namespace {

/// Both the toolkit that this was built with and the driver that runs it must know the call.
constexpr int kFirstVersionWithBatches = 12'080;

bool has_batched_copies() noexcept {
  int driver_version = 0;
  if (cudaDriverGetVersion(&driver_version) != cudaSuccess) {
    (void)cudaGetLastError();
    return false;
  }
  return CUDART_VERSION >= kFirstVersionWithBatches && driver_version >= kFirstVersionWithBatches;
}

}  // namespace

CudaBatchCopy::CudaBatchCopy() : is_batched_(has_batched_copies()) {}

cudaError_t CudaBatchCopy::enqueue(std::span<const CopyRange> ranges, cudaMemcpyKind kind,
                                   cudaStream_t stream) {
  if (is_batched_ && ranges.size() > 1) {
    destinations_.clear();
    sources_.clear();
    sizes_.clear();
    for (const CopyRange& range : ranges) {
      if (range.bytes != 0) {
        destinations_.push_back(range.destination);
        sources_.push_back(range.source);
        sizes_.push_back(range.bytes);
      }
    }
    return sizes_.empty() ? cudaSuccess : enqueue_batch(stream);
  }
  for (const CopyRange& range : ranges) {
    if (range.bytes == 0) {
      continue;
    }
    const cudaError_t code =
        cudaMemcpyAsync(range.destination, range.source, range.bytes, kind, stream);
    if (code != cudaSuccess) {
      return code;
    }
  }
  return cudaSuccess;
}

cudaError_t CudaBatchCopy::enqueue_batch(cudaStream_t stream) {
#if CUDART_VERSION >= 12'080
  cudaMemcpyAttributes attributes{};
  attributes.srcAccessOrder = cudaMemcpySrcAccessOrderStream;
  std::size_t first_index = 0;
#if CUDART_VERSION >= 13'000
  return cudaMemcpyBatchAsync(destinations_.data(), sources_.data(), sizes_.data(), sizes_.size(),
                              &attributes, &first_index, 1, stream);
#else
  // Before 13.0 the sources were not const, and the call said which copy failed.
  std::size_t failed_index = 0;
  return cudaMemcpyBatchAsync(destinations_.data(), const_cast<void**>(sources_.data()),
                              sizes_.data(), sizes_.size(), &attributes, &first_index, 1,
                              &failed_index, stream);
#endif
#else
  (void)stream;
  return cudaErrorNotSupported;
#endif
}

}  // namespace overlap
