#pragma once

#include "kernels/pipeline.hpp"
#include "tests/bench/kernel_workloads.hpp"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace overlap::bench {

/// Where the bytes of a workload's batch lie in one piece of memory: the table, every input, every
/// output, each aligned as a batch's pointers are. Pure; thread safety: any.
struct WorkloadLayout {
  std::uint32_t job_count = 0;
  /// Of one job.
  std::uint64_t input_bytes = 0;
  /// Of one job that makes an output.
  std::uint64_t output_bytes = 0;
  std::uint32_t jobs_per_output = 1;
  /// Of the one channel that all jobs belong to.
  std::uint64_t table_bytes = 0;
  std::uint64_t state_bytes = 0;
  /// Of the whole batch.
  std::uint64_t workspace_bytes = 0;

  [[nodiscard]] std::uint64_t input_offset_bytes(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint64_t output_offset_bytes(std::uint32_t index) const noexcept;
  [[nodiscard]] std::uint64_t arena_bytes() const noexcept;

  /// What a batch has to read and write at least: the table and every input once, every output once.
  /// Where batches do not end with an output, their mean. State and workspace do not count: a kernel
  /// that keeps less of it is the better one.
  [[nodiscard]] std::uint64_t moved_bytes() const noexcept;
  /// The copy that moves as many, half read and half written: from the arena's start to
  /// `copy_offset_bytes()`. What it overwrites it overwrites with bytes of the same kind.
  [[nodiscard]] std::uint64_t copied_bytes() const noexcept;
  [[nodiscard]] std::uint64_t copy_offset_bytes() const noexcept;
};

/// The layout of `job_count` jobs, each with as much input as the stage takes of `most_job_bytes`.
/// @throws std::runtime_error if the stage takes no job that small
[[nodiscard]] WorkloadLayout layout_of(const Pipeline& pipeline, std::uint64_t most_job_bytes,
                                       std::uint32_t job_count, std::uint32_t jobs_per_output);

/// What a kernel tells of one job.
struct JobReport {
  std::uint64_t output_bytes = 0;
  std::uint32_t status = OVERLAP_ITEM_OK;
  std::uint32_t reserved = 0;
};

/// Where one reader, the host or the GPU, sees what an item points to.
struct WorkloadPlaces {
  std::byte* arena;
  std::byte* state;
  JobReport* reports;
};

/// Job `index` of the batch.
[[nodiscard]] overlap_batch_item item_of(const WorkloadLayout& layout, const Stage& stage,
                                         const WorkloadPlaces& places, std::uint32_t index);

/// So many bytes to fill an arena with, again and again from its start. The same every time.
[[nodiscard]] std::vector<std::byte> workload_pattern(WorkloadData data);

}  // namespace overlap::bench
