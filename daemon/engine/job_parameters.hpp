#pragma once

#include "kernels/kernel.hpp"
#include "shared/channel_layout.hpp"

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace overlap {

/// The values that a job brings for the first stage of its pipeline.
struct JobParameters {
  /// A bit for each of `values` that is given.
  std::uint8_t given = 0;
  std::array<std::uint64_t, kMaxJobParameters> values{};

  friend bool operator==(const JobParameters&, const JobParameters&) = default;
};

/// Which parameters of a kernel a job may bring: their indices in the declaration, in order, as many
/// as a submission has room for.
[[nodiscard]] std::vector<std::size_t> per_job_parameters(const Kernel& kernel);

/// What a submission brings, checked against the declaration.
/// @return nothing if it names a parameter that there is not, or a value out of its range
[[nodiscard]] std::optional<JobParameters> read_job_parameters(
    const SubmissionEntry& entry, const Kernel& kernel, std::span<const std::size_t> per_job);

/// Puts the given ones in the place of a stage's own.
void apply(const JobParameters& job, std::span<const std::size_t> per_job,
           std::span<overlap_param_value> params) noexcept;

}  // namespace overlap
