#include "daemon/engine/lane.hpp"

#include "daemon/engine/batch_copies.hpp"
#include "daemon/engine/copy_plan.hpp"
#include "daemon/engine/lane_layout.hpp"
#include "kernels/numeric/copy.hpp"
#include "kernels/pass_sizes.hpp"

#include <algorithm>

namespace overlap {
namespace {

/// Moves jobs' bytes between slots and buffers on the `gather` path.
const Kernel& mover() noexcept {
  static const CopyKernel kKernel;
  return kKernel;
}

const Kernel& size_passer() noexcept {
  static const PassSizesKernel kKernel;
  return kKernel;
}

/// Room for a full batch of two stages, gathered and scattered; longer pipelines get fewer jobs.
constexpr std::uint32_t cells_for(std::uint32_t max_batch_jobs) noexcept {
  constexpr std::uint32_t kRowsOfAFullBatch = 4;
  return std::max(kRowsOfAFullBatch * max_batch_jobs,
                  static_cast<std::uint32_t>(BatchTable::kMaxRows));
}

}  // namespace

Lane::Lane(Device& device, const LaneSettings& settings)
    : device_(device),
      settings_(settings),
      max_cells_(cells_for(settings.max_batch_jobs)),
      in_(device.create_stream(settings.priority)),
      compute_(settings.kind == LaneKind::three ? device.create_stream(settings.priority) : in_),
      out_(settings.kind == LaneKind::three ? device.create_stream(settings.priority) : in_),
      buffers_(settings.depth) {
  for (Buffer& buffer : buffers_) {
    buffer.table = BatchTable(device, max_cells_);
    buffer.over = device.create_event();
    if (settings.kind == LaneKind::three) {
      buffer.copied_in = device.create_event();
      buffer.computed = device.create_event();
    }
    buffer.batch.jobs.reserve(settings.max_batch_jobs);
  }
}

std::uint32_t Lane::max_batch_jobs(const ServedPipeline& pipeline) const noexcept {
  const auto rows = static_cast<std::uint32_t>(pipeline.stages().size()) + 2;
  return std::min(settings_.max_batch_jobs, max_cells_ / rows);
}

void Lane::issue(Batch& batch) {
  Buffer& buffer = buffers_[(oldest_ + in_flight_) % buffers_.size()];
  std::swap(buffer.batch, batch);
  batch.clear();
  ++in_flight_;
  buffer.status = enqueue(buffer);
  DeviceStatus ending;
  if (!buffer.status.ok() && settings_.kind == LaneKind::three) {
    // What was enqueued before the failure still uses the buffer and the slots.
    ending = join(buffer);
  }
  if (ending.ok()) {
    // Behind a copy engine the other way of being told costs throughput: measured on an H200.
    ending = moves_by_copies(buffer.batch) ? device_.record(buffer.over, out_)
                                           : device_.record_end(buffer.over, out_);
  }
  if (!ending.ok()) {
    // Without its event nobody can tell when the buffer is free: as bad as a lost device.
    buffer.status = {DeviceOutcome::lost, ending.code};
  }
  if (buffer.status.outcome == DeviceOutcome::lost) {
    lost_code_ = buffer.status.code;
  }
}

DeviceStatus Lane::join(Buffer& buffer) {
  DeviceStatus status = device_.record(buffer.copied_in, in_);
  if (status.ok()) {
    status = device_.wait(out_, buffer.copied_in);
  }
  if (status.ok()) {
    status = device_.record(buffer.computed, compute_);
  }
  return status.ok() ? device_.wait(out_, buffer.computed) : status;
}

bool Lane::works_in_slots(const Batch& batch) const noexcept {
  return device_.properties().works_in_place || batch.path == Path::mapped;
}

bool Lane::moves_by_copies(const Batch& batch) const noexcept {
  return batch.path == Path::copy && !works_in_slots(batch);
}

bool Lane::scatters(const Batch& batch) const noexcept {
  if (works_in_slots(batch)) {
    return false;
  }
  // Copies have to be told sizes before the kernels have found them out.
  return batch.path == Path::gather || (batch.pipeline->finds_sizes() && batch.all_pinned &&
                                        device_.properties().kernels_reach_pinned);
}

DeviceStatus Lane::enqueue(Buffer& buffer) {
  DeviceStatus status = place(buffer);
  if (!status.ok()) {
    return status;
  }
  if (!moves_by_copies(buffer.batch)) {
    return enqueue_kernels(buffer);
  }
  const bool joined = settings_.kind == LaneKind::three;
  status = enqueue_copies_in(buffer);
  if (status.ok() && joined) {
    status = device_.record(buffer.copied_in, in_);
  }
  if (status.ok() && joined) {
    status = device_.wait(compute_, buffer.copied_in);
  }
  if (status.ok()) {
    status = enqueue_kernels(buffer);
  }
  if (status.ok() && joined) {
    status = device_.record(buffer.computed, compute_);
  }
  if (status.ok() && joined) {
    status = device_.wait(out_, buffer.computed);
  }
  return status.ok() && !scatters(buffer.batch) ? enqueue_copies_out(buffer) : status;
}

DeviceStatus Lane::enqueue_copies_in(Buffer& buffer) {
  ranges_.clear();
  append_input_copies(ranges_, buffer.batch, buffer.areas[0].data());
  return device_.copy_in(in_, ranges_);
}

DeviceStatus Lane::launch(Buffer& buffer, std::size_t row, const Kernel& kernel,
                          std::size_t param_count) {
  // Gathering reads what the first stage does, scattering what the last one made.
  const std::size_t stage = row - std::min(row, buffer.first_row);
  std::uint64_t largest = 0;
  for (const BatchRun& run : buffer.batch.runs) {
    largest = std::max(largest, bytes_before(run, stage));
  }
  const bool sizes_on_device =
      row >= buffer.first_row && stage > buffer.batch.pipeline->first_unsized_stage();
  overlap_batch batch =
      buffer.table.batch(row, param_count, largest,
                         sizes_on_device ? std::uint32_t{OVERLAP_BATCH_SIZES_ON_DEVICE} : 0U);
  batch.workspace = buffer.workspace.data();
  batch.workspace_bytes = buffer.workspace.bytes();
  return device_.launch(kernel_stream(buffer.batch), kernel, batch);
}

DeviceStatus Lane::await_tables(const Batch& batch) {
  awaited_.clear();
  for (const BatchRun& run : batch.runs) {
    for (const Job* const job : batch.jobs_of(run)) {
      for (const auto& table : *run.channel->tables_of(*job)) {
        if (table != nullptr && !table->is_there &&
            std::ranges::find(awaited_, table->ready.id()) == awaited_.end()) {
          awaited_.push_back(table->ready.id());
        }
      }
    }
  }
  DeviceStatus status;
  for (const EventId event : awaited_) {
    status = status.ok() ? device_.wait(kernel_stream(batch), event) : status;
  }
  return status;
}

DeviceStatus Lane::clear_states(const Batch& batch) {
  DeviceStatus status;
  for (const BatchRun& run : batch.runs) {
    for (const Job* const job : batch.jobs_of(run)) {
      if (!job->fresh) {
        continue;
      }
      for (const StageState& state : run.channel->kept_for(*job).states) {
        if (status.ok() && state.bytes != 0) {
          status = device_.clear(kernel_stream(batch), {state.memory.data(), state.bytes});
        }
      }
    }
  }
  return status;
}

bool Lane::clears_before(const Batch& batch, std::size_t stage) const noexcept {
  const bool is_last = stage + 1 == batch.pipeline->stages().size();
  if (is_last && works_in_slots(batch)) {
    return false;
  }
  // Copies and later stages take everything that was planned, written or not.
  return batch.pipeline->may_leave_out(stage) ||
         (is_last && batch.pipeline->finds_sizes() && !scatters(batch));
}

DeviceStatus Lane::clear_results(const Buffer& buffer, std::size_t stage) {
  std::uint64_t bytes = 0;
  for (const BatchRun& run : buffer.batch.runs) {
    bytes += run.count * footprint(bytes_before(run, stage + 1));
  }
  return device_.clear(kernel_stream(buffer.batch), {buffer.areas[(stage + 1) % 2].data(), bytes});
}

DeviceStatus Lane::enqueue_kernels(Buffer& buffer) {
  const Batch& batch = buffer.batch;
  DeviceStatus status = buffer.first_row != 0 ? launch(buffer, 0, mover(), 0) : DeviceStatus{};
  if (status.ok()) {
    status = batch.pipeline->is_stateful() ? enqueue_in_order(buffer) : enqueue_stages(buffer);
  }
  return status.ok() && scatters(batch)
             ? launch(buffer, buffer.first_row + batch.pipeline->stages().size(), mover(), 0)
             : status;
}

DeviceStatus Lane::enqueue_in_order(Buffer& buffer) {
  const StreamId stream = kernel_stream(buffer.batch);
  const EventId order = buffer.batch.pipeline->order_event().id();
  DeviceStatus status = device_.wait(stream, order);
  if (!status.ok()) {
    // Not recorded: the next batch waits for the one before this.
    return status;
  }
  status = clear_states(buffer.batch);
  if (status.ok()) {
    status = enqueue_stages(buffer);
  }
  // Also behind a failure: what was enqueued before it still uses the states.
  const DeviceStatus recorded = device_.record(order, stream);
  return status.ok() ? recorded : status;
}

DeviceStatus Lane::enqueue_stages(Buffer& buffer) {
  const Batch& batch = buffer.batch;
  const ServedPipeline& pipeline = *batch.pipeline;
  const std::vector<Stage>& stages = pipeline.stages();
  DeviceStatus status = pipeline.takes_tables() ? await_tables(batch) : DeviceStatus{};
  for (std::size_t stage = 0; stage < stages.size() && status.ok(); ++stage) {
    // What lies in the buffer is of other jobs, and may be of other producers.
    if (clears_before(batch, stage)) {
      status = clear_results(buffer, stage);
    }
    const std::size_t row = buffer.first_row + stage;
    if (status.ok()) {
      status = launch(buffer, row, *stages[stage].kernel, stages[stage].params.size());
    }
    if (status.ok() && stage >= pipeline.first_unsized_stage()) {
      status = launch(buffer, row, size_passer(), 0);
    }
  }
  return status;
}

DeviceStatus Lane::enqueue_copies_out(Buffer& buffer) {
  ranges_.clear();
  const std::size_t last = buffer.first_row + buffer.batch.pipeline->stages().size() - 1;
  std::uint32_t i = 0;
  for (const BatchRun& run : buffer.batch.runs) {
    const ChannelView& view = run.channel->view();
    for (const Job* const job : buffer.batch.jobs_of(run)) {
      const overlap_batch_item& item = buffer.table.item(last, i++);
      append_copy(ranges_, CopyDirection::out, run.channel->pinning().outputs,
                  {reinterpret_cast<std::byte*>(&view.header()),
                   view.geometry().output_offset_bytes(job->slot),
                   static_cast<std::byte*>(item.output), item.output_capacity_bytes});
    }
  }
  return device_.copy_out(out_, ranges_);
}

std::optional<Lane::Ended> Lane::harvest() {
  if (in_flight_ == 0) {
    return std::nullopt;
  }
  Buffer& buffer = buffers_[oldest_];
  if (buffer.status.outcome == DeviceOutcome::lost) {
    return Ended{buffer.status, &buffer.batch, &buffer.table, buffer.first_row};
  }
  const EventQuery query = device_.query(buffer.over);
  switch (query.state) {
    case EventState::pending:
      return std::nullopt;
    case EventState::ready:
      break;
    case EventState::failed:
      buffer.status = {DeviceOutcome::failed, query.code};
      break;
    case EventState::lost:
      buffer.status = {DeviceOutcome::lost, query.code};
      break;
  }
  return Ended{buffer.status, &buffer.batch, &buffer.table, buffer.first_row};
}

void Lane::retire() {
  buffers_[oldest_].batch.clear();
  oldest_ = static_cast<std::uint32_t>((oldest_ + 1) % buffers_.size());
  --in_flight_;
}

}  // namespace overlap
