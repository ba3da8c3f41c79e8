#include "kernels/numeric/fault.hpp"

#include <algorithm>

namespace overlap {

std::uint64_t FaultKernel::reference(const ReferenceJob& job) const {
  const std::int64_t byte = job.params[1].i64;
  const bool whole_batch = job.params[0].choice_index == 2;
  if (job.input.empty() || whole_batch || byte == -1 ||
      byte == std::to_integer<std::int64_t>(job.input.front())) {
    return 0;
  }
  std::copy(job.input.begin(), job.input.end(), job.output.begin());
  return job.input.size();
}

}  // namespace overlap
