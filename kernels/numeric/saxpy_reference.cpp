#include "kernels/numeric/saxpy.hpp"

#include <cstring>

namespace overlap {

std::uint64_t SaxpyKernel::reference(const ReferenceJob& job) const {
  const auto a = static_cast<float>(job.params[0].f64);
  const std::size_t half_bytes = job.input.size() / 2;
  std::size_t offset_bytes = 0;
  for (; offset_bytes + sizeof(float) <= half_bytes; offset_bytes += sizeof(float)) {
    float x = 0;
    float y = 0;
    std::memcpy(&x, &job.input[offset_bytes], sizeof x);
    std::memcpy(&y, &job.input[half_bytes + offset_bytes], sizeof y);
    // Through memory, so that no compiler option can fuse the two roundings.
    const volatile float product = a * x;
    const volatile float sum = product + y;
    const float result = sum;
    std::memcpy(&job.output[offset_bytes], &result, sizeof result);
  }
  return offset_bytes;
}

}  // namespace overlap
