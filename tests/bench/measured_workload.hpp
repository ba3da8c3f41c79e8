#pragma once

#include "tests/bench/workload_layout.hpp"

#include <chrono>
#include <memory>
#include <optional>
#include <string>

namespace overlap::bench {

/// A workload's batch in memory, ready to be run over and over. Restricted: one thread.
class MeasuredWorkload {
 public:
  virtual ~MeasuredWorkload() = default;

  // Each: seconds of one, as the mean of as many as take `duration` together, at least one.
  // @throws std::runtime_error, Interrupted

  /// The kernel alone, over the whole batch.
  [[nodiscard]] virtual double kernel_seconds(std::chrono::nanoseconds duration) = 0;
  /// A plain copy that moves as many bytes.
  [[nodiscard]] virtual double copy_seconds(std::chrono::nanoseconds duration) = 0;
  /// The vendor's library called alone for the same work; empty where there is none.
  [[nodiscard]] virtual std::optional<double> library_seconds(
      std::chrono::nanoseconds /*duration*/) {
    return std::nullopt;
  }
};

/// A batch, or why there is none.
struct WorkloadOrReason {
  std::unique_ptr<MeasuredWorkload> workload;
  std::string why_not;
};

/// What a workload is made of. The stage outlives what is made of it.
struct WorkloadParts {
  const Stage& stage;
  WorkloadLayout layout;
  WorkloadData data;
};

/// Kernel and copies run on the calling thread.
[[nodiscard]] WorkloadOrReason make_host_workload(const WorkloadParts& parts);

/// Everything lies in device memory; times are the GPU's own, without those of the calls that enqueue.
/// The first `compared_jobs` results of the first batch are held against the host's.
/// @throws std::runtime_error if one of them is another
[[nodiscard]] WorkloadOrReason make_cuda_workload(const WorkloadParts& parts,
                                                  std::uint32_t compared_jobs);

}  // namespace overlap::bench
