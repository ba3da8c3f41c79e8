// Where a batch lies in a lane's buffer: what kernels are told of it, and the room it takes.

#include "daemon/engine/lane.hpp"
#include "daemon/engine/lane_layout.hpp"

#include <algorithm>

namespace overlap {
namespace {

constexpr std::uint64_t kGrowthBytes = 2U << 20U;
/// Reported when the device has no memory for a batch; the number of cudaErrorMemoryAllocation.
constexpr int kOutOfMemory = 2;

}  // namespace

DeviceStatus Lane::place(Buffer& buffer) {
  const DeviceStatus status = reserve(buffer);
  if (!status.ok()) {
    return status;
  }
  const Batch& batch = buffer.batch;
  const std::size_t stage_count = batch.pipeline->stages().size();
  const bool gathered = batch.path == Path::gather && !works_in_slots(batch);
  buffer.first_row = gathered ? 1 : 0;
  const bool has_row_behind = scatters(batch) || batch.pipeline->finds_sizes();
  buffer.table.begin(buffer.first_row + stage_count + (has_row_behind ? 1 : 0),
                     static_cast<std::uint32_t>(batch.jobs.size()));
  if (gathered) {
    place_gather(buffer);
  }
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    place_stage(buffer, stage);
    if (batch.pipeline->is_stateful() || batch.pipeline->takes_tables()) {
      place_memory(buffer, stage);
    }
  }
  if (scatters(batch)) {
    place_scatter(buffer);
  }
  return {};
}

void Lane::place_gather(Buffer& buffer) {
  std::byte* target = buffer.areas[0].data();
  std::uint32_t i = 0;
  for (const BatchRun& run : buffer.batch.runs) {
    const std::uint64_t bytes = run.plan->input_bytes;
    for (const Job* const job : buffer.batch.jobs_of(run)) {
      buffer.table.set_item(0, i++, run.channel->view().input(job->slot).data(), bytes, target,
                            bytes);
      target += footprint(bytes);
    }
  }
}

void Lane::place_stage(Buffer& buffer, std::size_t stage) {
  const Batch& batch = buffer.batch;
  const std::vector<Stage>& stages = batch.pipeline->stages();
  const std::size_t row = buffer.first_row + stage;
  const bool in_slots = works_in_slots(batch);
  const bool from_slot = in_slots && stage == 0;
  const bool to_slot = in_slots && stage + 1 == stages.size();
  if (stage == 0 && batch.parameters.given != 0) {
    ParameterValues params = stages[stage].params;
    apply(batch.parameters, batch.pipeline->per_job(), params);
    buffer.table.set_params(row, params);
  } else {
    buffer.table.set_params(row, stages[stage].params);
  }
  std::byte* source = buffer.areas[stage % 2].data();
  std::byte* target = buffer.areas[(stage + 1) % 2].data();
  std::uint32_t i = 0;
  for (const BatchRun& run : batch.runs) {
    const ChannelView& view = run.channel->view();
    const std::uint64_t in_bytes = bytes_before(run, stage);
    const std::uint64_t out_bytes = bytes_before(run, stage + 1);
    const bool size_known = stage < batch.pipeline->first_unsized_stage();
    for (const Job* const job : batch.jobs_of(run)) {
      buffer.table.set_item(row, i, from_slot ? view.input(job->slot).data() : source, in_bytes,
                            to_slot ? view.output(job->slot).data() : target, out_bytes);
      if (!size_known) {
        buffer.table.expect_output(row, i, out_bytes);
      }
      source += footprint(in_bytes);
      target += footprint(out_bytes);
      ++i;
    }
  }
}

void Lane::place_memory(Buffer& buffer, std::size_t stage) {
  std::uint32_t i = 0;
  for (const BatchRun& run : buffer.batch.runs) {
    for (const Job* const job : buffer.batch.jobs_of(run)) {
      const std::vector<StageState>& states = run.channel->kept_for(*job).states;
      const TableSet* const tables = run.channel->tables_of(*job);
      const UploadedTable* const table = tables != nullptr ? (*tables)[stage].get() : nullptr;
      buffer.table.set_memory(
          buffer.first_row + stage, i++, states.empty() ? nullptr : states[stage].memory.data(),
          table != nullptr ? table->memory.data() : nullptr, table != nullptr ? table->bytes : 0);
    }
  }
}

void Lane::place_scatter(Buffer& buffer) {
  const std::size_t row = buffer.first_row + buffer.batch.pipeline->stages().size();
  std::uint32_t i = 0;
  for (const BatchRun& run : buffer.batch.runs) {
    for (const Job* const job : buffer.batch.jobs_of(run)) {
      const overlap_batch_item& made = buffer.table.item(row - 1, i);
      buffer.table.set_item(row, i++, made.output, made.output_capacity_bytes,
                            run.channel->view().output(job->slot).data(),
                            made.output_capacity_bytes);
    }
  }
}

DeviceStatus Lane::reserve(Buffer& buffer) {
  const Batch& batch = buffer.batch;
  const std::size_t stage_count = batch.pipeline->stages().size();
  const bool in_slots = works_in_slots(batch);
  // Stage k reads area k % 2 and writes the other; the ends may be the slots themselves.
  std::uint64_t needed[2] = {0, 0};
  std::uint64_t largest_workspace = 0;
  for (std::size_t stage = 0; stage <= stage_count; ++stage) {
    std::uint64_t bytes = 0;
    for (const BatchRun& run : batch.runs) {
      bytes += run.count * footprint(bytes_before(run, stage));
      if (stage < stage_count) {
        largest_workspace =
            std::max(largest_workspace, footprint(run.plan->plan.stages[stage].workspace_bytes));
      }
    }
    if (!in_slots || (stage != 0 && stage != stage_count)) {
      needed[stage % 2] = std::max(needed[stage % 2], bytes);
    }
  }
  DeviceStatus status = grow(buffer.areas[0], needed[0]);
  if (status.ok()) {
    status = grow(buffer.areas[1], needed[1]);
  }
  return status.ok() ? grow(buffer.workspace, largest_workspace * batch.jobs.size()) : status;
}

DeviceStatus Lane::grow(DeviceMemory& memory, std::uint64_t needed_bytes) {
  if (needed_bytes <= memory.bytes()) {
    return {};
  }
  memory.reset();
  memory =
      DeviceMemory(device_, DeviceMemory::Kind::buffer,
                   round_up(std::max(needed_bytes, settings_.initial_buffer_bytes), kGrowthBytes));
  return memory.data() != nullptr ? DeviceStatus{}
                                  : DeviceStatus{DeviceOutcome::failed, kOutOfMemory};
}

}  // namespace overlap
