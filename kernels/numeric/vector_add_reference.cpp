#include "kernels/numeric/vector_add.hpp"

#include <cstring>

namespace overlap {

std::uint64_t VectorAddKernel::reference(const ReferenceJob& job) const {
  const std::span<const std::byte> first = job.input.first(job.input.size() / 2);
  const std::span<const std::byte> second = job.input.last(job.input.size() / 2);
  std::size_t offset_bytes = 0;
  for (; offset_bytes + sizeof(float) <= first.size(); offset_bytes += sizeof(float)) {
    float a = 0;
    float b = 0;
    std::memcpy(&a, &first[offset_bytes], sizeof a);
    std::memcpy(&b, &second[offset_bytes], sizeof b);
    const float sum = a + b;
    std::memcpy(&job.output[offset_bytes], &sum, sizeof sum);
  }
  return offset_bytes;
}

}  // namespace overlap
