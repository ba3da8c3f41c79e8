#include "kernels/signal/power_spectrum.hpp"

#include <cstring>

namespace overlap {

std::uint64_t PowerSpectrumKernel::reference(const ReferenceJob& job) const {
  const volatile auto scale = static_cast<float>(job.params[0].f64);
  std::uint64_t written = 0;
  for (std::size_t at = 0; at + 2 * sizeof(float) <= job.input.size(); at += 2 * sizeof(float)) {
    float sample[2] = {};
    std::memcpy(sample, &job.input[at], sizeof sample);
    // Every rounding is forced through memory, so that no compiler option can fuse two of them.
    const volatile float re_squared = sample[0] * sample[0];
    const volatile float im_squared = sample[1] * sample[1];
    const volatile float power = re_squared + im_squared;
    const float scaled = power * scale;
    std::memcpy(&job.output[written], &scaled, sizeof scaled);
    written += sizeof scaled;
  }
  return written;
}

}  // namespace overlap
