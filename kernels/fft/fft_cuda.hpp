#pragma once

#include "kernels/overlap_kernel.h"

#include <cstdint>

namespace overlap {

/// The current CUDA device of this thread. @return a `cudaError_t` value
[[nodiscard]] int current_cuda_device(int& device);

/// Waits until that device has done all that was enqueued. @return a `cudaError_t` value
[[nodiscard]] int wait_for_cuda_device(int device);

/// Enqueues a multiplication of `count` floats in place. @return a `cudaError_t` value
/// @pre aligned to 16 bytes
[[nodiscard]] int scale_floats(void* floats, std::uint64_t count, float factor, void* stream);

/// Enqueues copies of the first `item_bytes` of every item's input to `joined`, side by side.
/// @return a `cudaError_t` value @pre `item_bytes` is a multiple of 4
[[nodiscard]] int join_inputs(const overlap_batch& batch, void* joined, std::uint64_t item_bytes,
                              void* stream);

/// The other way: from `joined` to the outputs, every float times `factor`.
/// @return a `cudaError_t` value @pre `item_bytes` is a multiple of 4
[[nodiscard]] int part_outputs(const overlap_batch& batch, const void* joined,
                               std::uint64_t item_bytes, float factor, void* stream);

}  // namespace overlap
