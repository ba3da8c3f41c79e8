#include "daemon/engine/job_parameters.hpp"

#include <bit>
#include <cmath>
#include <cstring>

namespace overlap {
namespace {

bool is_in_range(const Parameter& parameter, std::uint64_t bits) noexcept {
  if (parameter.type == ParameterType::real) {
    const auto value = std::bit_cast<double>(bits);
    // A NaN is in no range.
    return std::isfinite(value) && value >= parameter.minimum && value <= parameter.maximum;
  }
  const auto value = static_cast<double>(static_cast<std::int64_t>(bits));
  return value >= parameter.minimum && value <= parameter.maximum;
}

}  // namespace

std::vector<std::size_t> per_job_parameters(const Kernel& kernel) {
  std::vector<std::size_t> indices;
  const std::span<const Parameter> parameters = kernel.parameters();
  for (std::size_t i = 0; i < parameters.size() && indices.size() < kMaxJobParameters; ++i) {
    if (parameters[i].per_job && parameters[i].type != ParameterType::choice) {
      indices.push_back(i);
    }
  }
  return indices;
}

std::optional<JobParameters> read_job_parameters(const SubmissionEntry& entry, const Kernel& kernel,
                                                 std::span<const std::size_t> per_job) {
  JobParameters job;
  for (std::size_t i = 0; i < kMaxJobParameters; ++i) {
    if ((entry.flags & submission_parameter_flag(i)) == 0) {
      continue;
    }
    if (i >= per_job.size()) {
      return std::nullopt;
    }
    std::memcpy(&job.values[i], entry.params + i * sizeof job.values[i], sizeof job.values[i]);
    if (!is_in_range(kernel.parameters()[per_job[i]], job.values[i])) {
      return std::nullopt;
    }
    job.given |= static_cast<std::uint8_t>(1U << i);
  }
  return job;
}

void apply(const JobParameters& job, std::span<const std::size_t> per_job,
           std::span<overlap_param_value> params) noexcept {
  for (std::size_t i = 0; i < per_job.size(); ++i) {
    if ((job.given >> i & 1U) != 0) {
      std::memcpy(&params[per_job[i]], &job.values[i], sizeof job.values[i]);
    }
  }
}

}  // namespace overlap
