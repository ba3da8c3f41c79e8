#pragma once

#include "tests/bench/measured_workload.hpp"

#include <span>

namespace overlap::bench {

/// A batch in this process's memory, which the kernel's host implementation works on. Restricted: one
/// thread.
class HostWorkload final : public MeasuredWorkload {
 public:
  /// @pre the stage's kernel has a host implementation
  explicit HostWorkload(const WorkloadParts& parts);

  [[nodiscard]] double kernel_seconds(std::chrono::nanoseconds duration) override;
  [[nodiscard]] double copy_seconds(std::chrono::nanoseconds duration) override;

  /// One batch. @throws std::runtime_error if a job failed
  void run();
  /// What job `index` of the last batch made.
  [[nodiscard]] std::span<const std::byte> output(std::uint32_t index) const;

 private:
  WorkloadParts parts_;
  std::vector<std::byte> memory_;
  std::vector<std::byte> state_;
  std::vector<std::byte> workspace_;
  std::vector<JobReport> reports_;
  /// Within `memory_`, aligned.
  std::byte* arena_ = nullptr;
  std::vector<overlap_batch_item> items_;
};

}  // namespace overlap::bench
