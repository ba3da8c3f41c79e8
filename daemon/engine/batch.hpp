#pragma once

#include "daemon/engine/channel.hpp"

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace overlap {

/// Stages that a pipeline may have on a lane, and parameters that a stage may have.
inline constexpr std::size_t kMaxStages = 8;
inline constexpr std::size_t kMaxStageParameters = 16;

/// Jobs of a batch that follow each other, are of one channel and have one plan, and so one size.
struct BatchRun {
  Channel* channel;
  PlanCache::Entry* plan;
  std::uint32_t first_index;
  std::uint32_t count;
};

/// Jobs issued together on a lane: one launch per kernel, however many jobs.
struct Batch {
  /// The same for every job.
  ServedPipeline* pipeline = nullptr;
  /// The channels' own records.
  std::vector<Job*> jobs;
  /// All of `jobs`, in order: what is the same for many jobs is done once.
  std::vector<BatchRun> runs;
  std::uint64_t input_bytes = 0;
  /// What counts against the bound of a batch.
  std::uint64_t batch_bytes = 0;
  std::uint64_t largest_input_bytes = 0;
  /// How the bytes reach the kernels.
  Path path = Path::copy;
  /// Whether kernels can reach every job's slot.
  bool all_pinned = true;
  /// Runs with nothing else issued.
  bool isolate = false;
  /// The same for every job.
  JobParameters parameters;
  /// Among the batches of a stateful pipeline; 0 for others.
  std::uint64_t order = 0;
  /// Its kernels, not its copies, keep the device busy for longer than may be issued ahead.
  bool long_kernel = false;
  /// Of all batches of the engine.
  std::uint64_t issue_number = 0;
  /// When it was issued, and for how long the device was expected to be busy with it.
  std::uint64_t issued_ns = 0;
  std::uint64_t cost_ns = 0;

  [[nodiscard]] std::span<Job* const> jobs_of(const BatchRun& run) const noexcept {
    return std::span(jobs).subspan(run.first_index, run.count);
  }

  /// Adds a job behind the others.
  void add(Channel& channel, Job& job) {
    jobs.push_back(&job);
    close_run(channel, *job.plan, 1, job.cost_ns);
  }

  /// Adds a run behind the others, to the last one if that is of the same channel and plan.
  void append_run(const BatchRun& run) {
    if (!runs.empty() && runs.back().channel == run.channel && runs.back().plan == run.plan) {
      runs.back().count += run.count;
    } else {
      runs.push_back(run);
    }
  }

  /// Takes account of the last `count` jobs: of one channel, with one plan.
  void close_run(Channel& channel, PlanCache::Entry& plan, std::uint32_t count,
                 std::uint64_t job_cost_ns) {
    append_run({&channel, &plan, static_cast<std::uint32_t>(jobs.size()) - count, count});
    input_bytes += count * plan.input_bytes;
    batch_bytes += count * plan.batch_bytes;
    largest_input_bytes = std::max(largest_input_bytes, plan.input_bytes);
    cost_ns += count * job_cost_ns;
    all_pinned = all_pinned && channel.is_pinned();
  }

  void clear() noexcept {
    jobs.clear();
    runs.clear();
    pipeline = nullptr;
    input_bytes = 0;
    batch_bytes = 0;
    largest_input_bytes = 0;
    path = Path::copy;
    all_pinned = true;
    isolate = false;
    parameters = {};
    order = 0;
    long_kernel = false;
    issue_number = 0;
    issued_ns = 0;
    cost_ns = 0;
  }
};

}  // namespace overlap
