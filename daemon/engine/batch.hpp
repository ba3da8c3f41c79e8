#pragma once

#include "daemon/engine/channel.hpp"

#include <cstdint>
#include <vector>

namespace overlap {

/// Stages that a pipeline may have on a lane, and parameters that a stage may have.
inline constexpr std::size_t kMaxStages = 8;
inline constexpr std::size_t kMaxStageParameters = 16;

/// A job of a batch and whose it is.
struct BatchJob {
  Channel* channel;
  Job job;
};

/// Jobs issued together on a lane: one launch per kernel, however many jobs.
struct Batch {
  /// The same for every job.
  const Pipeline* pipeline = nullptr;
  std::vector<BatchJob> jobs;
  std::uint64_t input_bytes = 0;
  /// Runs with nothing else issued.
  bool isolate = false;

  void clear() noexcept {
    pipeline = nullptr;
    jobs.clear();
    input_bytes = 0;
    isolate = false;
  }
};

}  // namespace overlap
