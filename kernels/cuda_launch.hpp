#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

// The CUDA side of the built-in kernels. The build links either the `.cu` files or `no_cuda.cpp`.

/// Whether the functions below can launch anything.
[[nodiscard]] bool built_with_cuda() noexcept;

/// Each enqueues its kernel for the whole batch on `stream` and returns at once.
/// Thread safety: any.
/// @return a `cudaError_t` value of this launch alone, 0 for success; `cudaErrorNotSupported` in a
///         build without CUDA
/// @pre the current device is the stream's; the items' pointers are device or mapped pinned memory
[[nodiscard]] int launch_pass_sizes(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_copy(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_fir(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_integrate(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_power_spectrum(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_gaussian_blur(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_grayscale(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_lut(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_resize(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_scale(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_sobel(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_convert(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_fault(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_histogram(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_reduce(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_saxpy(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_spin(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_transpose(const overlap_batch& batch, OpaqueStream stream);
[[nodiscard]] int launch_vector_add(const overlap_batch& batch, OpaqueStream stream);

}  // namespace overlap
