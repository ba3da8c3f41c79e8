#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace overlap::bench {

/// What a workload's inputs and table are made of. Numbers are finite, from 0 to 1; halves from -2
/// to 2.
enum class WorkloadData : std::uint8_t { bytes, f16, f32 };

/// One line of the scenario 'kernels': a kernel with parameters that people use.
struct KernelWorkload {
  /// For people.
  std::string_view label;
  /// The stage as a pipeline's text, for the large jobs and for the small ones.
  std::string_view large;
  std::string_view small;
  WorkloadData data;
  /// One output for so many jobs.
  std::uint32_t jobs_per_output = 1;

  /// The kernel's own name.
  [[nodiscard]] constexpr std::string_view kernel() const noexcept {
    return large.substr(0, large.find(':'));
  }
};

/// All of them, in the order of the table. `spin` and `fault` are left out: one takes the time that it
/// is told, the other ends jobs badly on purpose.
[[nodiscard]] std::span<const KernelWorkload> kernel_workloads() noexcept;

/// The jobs of a batch.
struct BatchShape {
  /// A job has as much input as its kernel takes up to here.
  std::uint64_t most_job_bytes;
  std::uint32_t gpu_jobs;
  /// On the host fewer will do: there is no launch to be shared.
  std::uint32_t host_jobs;
};

/// On the GPU more than its L2 cache holds.
inline constexpr BatchShape kLargeBatch{std::uint64_t{16} << 20U, 16, 2};
inline constexpr BatchShape kSmallBatch{std::uint64_t{64} << 10U, 256, 256};

}  // namespace overlap::bench
