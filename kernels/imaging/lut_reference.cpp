#include "kernels/imaging/lut.hpp"

namespace overlap {

std::uint64_t LutKernel::reference(const ReferenceJob& job) const {
  constexpr std::size_t kPixelBytes[] = {1, 3, 4};
  const std::size_t pixel_bytes = kPixelBytes[job.params[0].choice_index];
  const bool per_channel = job.params[1].choice_index == 1;
  for (std::size_t at = 0; at < job.input.size(); ++at) {
    const std::size_t table = per_channel ? at % pixel_bytes : 0;
    job.output[at] = job.table[256 * table + std::to_integer<std::size_t>(job.input[at])];
  }
  return job.input.size();
}

}  // namespace overlap
