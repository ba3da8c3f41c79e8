#pragma once

#include <cstdint>

namespace overlap {

/// The current CUDA device of this thread. @return a `cudaError_t` value
[[nodiscard]] int current_cuda_device(int& device);

/// Enqueues a multiplication of `count` floats in place. @return a `cudaError_t` value
/// @pre aligned to 16 bytes
[[nodiscard]] int scale_floats(void* floats, std::uint64_t count, float factor, void* stream);

}  // namespace overlap
