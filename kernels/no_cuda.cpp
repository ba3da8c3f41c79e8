#include "kernels/cuda_launch.hpp"

namespace overlap {
namespace {

/// `cudaErrorNotSupported`, by its number: this file is for machines without the toolkit.
constexpr int kNotSupported = 801;

}  // namespace

bool built_with_cuda() noexcept { return false; }

int launch_pass_sizes(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_copy(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_fir(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_integrate(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_power_spectrum(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_gaussian_blur(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_grayscale(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_lut(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_resize(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_scale(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_sobel(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_convert(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_fault(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_histogram(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_reduce(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_saxpy(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_spin(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) { return kNotSupported; }
int launch_transpose(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}
int launch_vector_add(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) {
  return kNotSupported;
}

}  // namespace overlap
