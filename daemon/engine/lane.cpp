#include "daemon/engine/lane.hpp"

#include "daemon/engine/copy_plan.hpp"
#include "kernels/numeric/copy.hpp"

#include <algorithm>

namespace overlap {
namespace {

/// What kernels are promised of their pointers.
constexpr std::uint64_t kAlignmentBytes = 256;
constexpr std::uint64_t kGrowthBytes = 2U << 20U;
/// Reported when the device has no memory for a batch; the number of cudaErrorMemoryAllocation.
constexpr int kOutOfMemory = 2;

constexpr std::uint64_t round_up(std::uint64_t value, std::uint64_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes between the inputs or results of two jobs of a batch in a lane's buffer.
constexpr std::uint64_t footprint(std::uint64_t bytes) noexcept {
  return round_up(bytes, kAlignmentBytes);
}

/// What a job of a run has become before a stage; the result is what it is behind the last one.
std::uint64_t bytes_before(const BatchRun& run, std::size_t stage) noexcept {
  return stage == 0 ? run.plan->input_bytes : run.plan->plan.stages[stage - 1].max_output_bytes;
}

/// Moves jobs' bytes between slots and buffers on the `gather` path.
const Kernel& mover() noexcept {
  static const CopyKernel kKernel;
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
  return status.ok() ? enqueue_copies_out(buffer) : status;
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

DeviceStatus Lane::place(Buffer& buffer) {
  const DeviceStatus status = reserve(buffer);
  if (!status.ok()) {
    return status;
  }
  const Batch& batch = buffer.batch;
  const std::size_t stage_count = batch.pipeline->stages().size();
  const bool gathered = batch.path == Path::gather && !works_in_slots(batch);
  buffer.first_row = gathered ? 1 : 0;
  buffer.table.begin(gathered ? stage_count + 2 : stage_count,
                     static_cast<std::uint32_t>(batch.jobs.size()));
  if (gathered) {
    place_gather(buffer);
  }
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    place_stage(buffer, stage);
  }
  if (gathered) {
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
  buffer.table.set_params(row, stages[stage].params);
  std::byte* source = buffer.areas[stage % 2].data();
  std::byte* target = buffer.areas[(stage + 1) % 2].data();
  std::uint32_t i = 0;
  for (const BatchRun& run : batch.runs) {
    const ChannelView& view = run.channel->view();
    const std::uint64_t in_bytes = bytes_before(run, stage);
    const std::uint64_t out_bytes = bytes_before(run, stage + 1);
    const bool size_known = run.plan->plan.stages[stage].output_size == OutputSize::known;
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

DeviceStatus Lane::enqueue_copies_in(Buffer& buffer) {
  ranges_.clear();
  std::byte* target = buffer.areas[0].data();
  for (const BatchRun& run : buffer.batch.runs) {
    const ChannelView& view = run.channel->view();
    const std::uint64_t bytes = run.plan->input_bytes;
    for (const Job* const job : buffer.batch.jobs_of(run)) {
      append_copy(ranges_, CopyDirection::in, run.channel->pinning().inputs,
                  {reinterpret_cast<std::byte*>(&view.header()),
                   view.geometry().input_offset_bytes(job->slot), target, bytes});
      target += footprint(bytes);
    }
  }
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
  overlap_batch batch = buffer.table.batch(row, param_count, largest);
  batch.workspace = buffer.workspace.data();
  batch.workspace_bytes = buffer.workspace.bytes();
  // Without copies everything is on the stream at whose end the batch is over.
  return device_.launch(moves_by_copies(buffer.batch) ? compute_ : out_, kernel, batch);
}

DeviceStatus Lane::enqueue_kernels(Buffer& buffer) {
  const std::vector<Stage>& stages = buffer.batch.pipeline->stages();
  const bool gathered = buffer.first_row != 0;
  DeviceStatus status = gathered ? launch(buffer, 0, mover(), 0) : DeviceStatus{};
  for (std::size_t stage = 0; stage < stages.size() && status.ok(); ++stage) {
    status = launch(buffer, buffer.first_row + stage, *stages[stage].kernel,
                    stages[stage].params.size());
  }
  return status.ok() && gathered ? launch(buffer, buffer.first_row + stages.size(), mover(), 0)
                                 : status;
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
