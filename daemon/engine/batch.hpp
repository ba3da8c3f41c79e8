#pragma once

#include "daemon/engine/channel.hpp"

#include <algorithm>
#include <cstdint>
#include <vector>

namespace overlap {

/// Stages that a pipeline may have on a lane, and parameters that a stage may have.
inline constexpr std::size_t kMaxStages = 8;
inline constexpr std::size_t kMaxStageParameters = 16;

/// A job of a batch and whose it is.
struct BatchJob {
  Channel* channel;
  /// The channel's own record of it.
  Job* job;
};

/// Jobs issued together on a lane: one launch per kernel, however many jobs.
struct Batch {
  /// The same for every job.
  ServedPipeline* pipeline = nullptr;
  std::vector<BatchJob> jobs;
  std::uint64_t input_bytes = 0;
  std::uint64_t largest_input_bytes = 0;
  /// How the bytes reach the kernels.
  Path path = Path::copy;
  /// Whether kernels can reach every job's slot.
  bool all_pinned = true;
  /// Runs with nothing else issued.
  bool isolate = false;
  /// Of all batches of the engine.
  std::uint64_t issue_number = 0;
  /// When it was issued, and for how long the device was expected to be busy with it.
  std::uint64_t issued_ns = 0;
  std::uint64_t cost_ns = 0;

  void add(Channel& channel, Job& job) {
    jobs.push_back({&channel, &job});
    input_bytes += job.input_bytes;
    largest_input_bytes = std::max(largest_input_bytes, job.input_bytes);
    cost_ns += job.cost_ns;
    all_pinned = all_pinned && channel.is_pinned();
  }

  void clear() noexcept {
    jobs.clear();
    pipeline = nullptr;
    input_bytes = 0;
    largest_input_bytes = 0;
    path = Path::copy;
    all_pinned = true;
    isolate = false;
    issue_number = 0;
    issued_ns = 0;
    cost_ns = 0;
  }
};

}  // namespace overlap
