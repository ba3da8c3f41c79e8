#include "kernels/numeric/copy.hpp"

namespace overlap {

std::uint64_t CopyKernel::reference(const ReferenceJob& job) const {
  std::size_t position = 0;
  for (const std::byte byte : job.input) {
    job.output[position++] = byte;
  }
  return position;
}

}  // namespace overlap
