#include "daemon/engine/batch_copies.hpp"

#include "daemon/engine/copy_plan.hpp"
#include "daemon/engine/lane_layout.hpp"

#include <algorithm>
#include <span>
#include <tuple>
#include <utility>

namespace overlap {

namespace {

bool go_together(const BatchRun& a, const BatchRun& b) noexcept {
  return a.channel == b.channel && a.plan == b.plan;
}

void join_runs(Batch& batch, std::vector<Job*>& jobs) {
  std::ranges::sort(batch.runs, {}, [](const BatchRun& run) {
    return std::tuple(run.channel->id(), run.plan->input_bytes, run.first_index);
  });
  std::swap(batch.jobs, jobs);
  batch.jobs.clear();
  auto last = batch.runs.begin();
  for (auto run = batch.runs.begin(); run != batch.runs.end(); ++run) {
    const auto first = jobs.begin() + run->first_index;
    run->first_index = static_cast<std::uint32_t>(batch.jobs.size());
    batch.jobs.insert(batch.jobs.end(), first, first + run->count);
    if (run == last) {
      continue;
    }
    if (go_together(*last, *run)) {
      last->count += run->count;
    } else {
      *++last = *run;
    }
  }
  batch.runs.erase(last + 1, batch.runs.end());
}

}  // namespace

void sort_by_slot(Batch& batch, std::vector<Job*>& work) {
  if (batch.pipeline->is_stateful()) {
    return;
  }
  if (batch.runs.size() > 1) {
    join_runs(batch, work);
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

std::uint64_t bytes_a_copy(const Batch& batch, std::vector<CopyRange>& work) {
  work.clear();
  // Where they would go on the device makes no difference, but that jobs lie one behind the other.
  auto* const anywhere = reinterpret_cast<std::byte*>(std::uintptr_t{1} << 40U);
  append_input_copies(work, batch, anywhere);
  return std::max<std::uint64_t>(batch.input_bytes / std::max<std::size_t>(work.size(), 1), 1);
}

}  // namespace overlap
