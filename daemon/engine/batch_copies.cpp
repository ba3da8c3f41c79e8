#include "daemon/engine/batch_copies.hpp"

#include "daemon/engine/copy_plan.hpp"
#include "daemon/engine/lane_layout.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace overlap {
namespace {

std::tuple<ChannelId, std::uint64_t> channel_and_size(const BatchRun& run) noexcept {
  return {run.channel->id(), run.plan->input_bytes};
}

/// Makes one run of all the jobs of a channel that have one plan.
void join_runs(Batch& batch, SortScratch& scratch) {
  std::swap(batch.jobs, scratch.jobs);
  std::swap(batch.runs, scratch.runs);
  batch.jobs.clear();
  batch.runs.clear();
  std::ranges::sort(scratch.runs, {}, channel_and_size);
  for (const BatchRun& run : scratch.runs) {
    const auto first = scratch.jobs.begin() + run.first_index;
    batch.append_run(
        {run.channel, run.plan, static_cast<std::uint32_t>(batch.jobs.size()), run.count});
    batch.jobs.insert(batch.jobs.end(), first, first + run.count);
  }
}

}  // namespace

void sort_by_slot(Batch& batch, SortScratch& scratch) {
  if (batch.pipeline->is_stateful()) {
    return;
  }
  // Neighbouring runs are never of one channel and plan: what is in order has none twice.
  if (!std::ranges::is_sorted(batch.runs, {}, channel_and_size)) {
    join_runs(batch, scratch);
  }
  for (const BatchRun& run : batch.runs) {
    const std::span jobs = std::span(batch.jobs).subspan(run.first_index, run.count);
    const auto slot = [](const Job* job) { return job->slot; };
    if (!std::ranges::is_sorted(jobs, {}, slot)) {
      std::ranges::sort(jobs, {}, slot);
    }
  }
}

void append_input_copies(std::vector<CopyRange>& ranges, const Batch& batch, std::byte* area) {
  for (const BatchRun& run : batch.runs) {
    const ChannelView& view = run.channel->view();
    const std::uint64_t bytes = run.plan->input_bytes;
    for (const Job* const job : batch.jobs_of(run)) {
      append_copy(ranges, CopyDirection::in, run.channel->pinning().inputs,
                  {reinterpret_cast<std::byte*>(&view.header()),
                   view.geometry().input_offset_bytes(job->slot), area, bytes});
      area += footprint(bytes);
    }
  }
}

std::uint64_t bytes_a_copy(const Batch& batch, std::vector<CopyRange>& scratch) {
  scratch.clear();
  // Where they would go on the device makes no difference, but that jobs lie one behind the other.
  auto* const anywhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40U);
  append_input_copies(scratch, batch, anywhere);
  return batch.input_bytes / scratch.size();
}

}  // namespace overlap
