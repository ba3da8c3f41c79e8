#include "daemon/engine/lane.hpp"

#include "daemon/engine/copy_plan.hpp"

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

}  // namespace

Lane::Lane(Device& device, const LaneSettings& settings)
    : device_(device),
      settings_(settings),
      in_(device.create_stream()),
      compute_(settings.kind == LaneKind::three ? device.create_stream() : in_),
      out_(settings.kind == LaneKind::three ? device.create_stream() : in_),
      buffers_(settings.depth) {
  for (Buffer& buffer : buffers_) {
    buffer.table = BatchTable(device, settings.max_batch_jobs);
    buffer.over = device.create_event();
    if (settings.kind == LaneKind::three) {
      buffer.copied_in = device.create_event();
      buffer.computed = device.create_event();
    }
    buffer.batch.jobs.reserve(settings.max_batch_jobs);
  }
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
    ending = device_.record(buffer.over, out_);
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

DeviceStatus Lane::enqueue(Buffer& buffer) {
  DeviceStatus status = place(buffer);
  if (!status.ok()) {
    return status;
  }
  const bool joined = settings_.kind == LaneKind::three;
  const bool copies = !device_.properties().works_in_place;
  if (copies) {
    status = enqueue_copies_in(buffer);
    if (status.ok() && joined) {
      status = device_.record(buffer.copied_in, in_);
    }
    if (status.ok() && joined) {
      status = device_.wait(compute_, buffer.copied_in);
    }
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
  if (status.ok() && copies) {
    status = enqueue_copies_out(buffer);
  }
  return status;
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
  const bool in_place = device_.properties().works_in_place;
  // Stage k reads area k % 2 and writes the other; in place, the ends are the slots themselves.
  std::uint64_t needed[2] = {0, 0};
  std::uint64_t workspace = 0;
  for (std::size_t stage = 0; stage <= stage_count; ++stage) {
    std::uint64_t bytes = 0;
    std::uint64_t largest_workspace = 0;
    for (const BatchJob& entry : batch.jobs) {
      const std::vector<Plan>& plans = entry.job.plan->plan.stages;
      bytes += footprint(stage == 0 ? entry.job.input_bytes : plans[stage - 1].max_output_bytes);
      if (stage < stage_count) {
        largest_workspace = std::max(largest_workspace, footprint(plans[stage].workspace_bytes));
      }
    }
    workspace = std::max(workspace, largest_workspace * batch.jobs.size());
    if (!in_place || (stage != 0 && stage != stage_count)) {
      needed[stage % 2] = std::max(needed[stage % 2], bytes);
    }
  }
  DeviceStatus status = grow(buffer.areas[0], needed[0]);
  if (status.ok()) {
    status = grow(buffer.areas[1], needed[1]);
  }
  return status.ok() ? grow(buffer.workspace, workspace) : status;
}

DeviceStatus Lane::place(Buffer& buffer) {
  const DeviceStatus status = reserve(buffer);
  if (!status.ok()) {
    return status;
  }
  const Batch& batch = buffer.batch;
  const std::vector<Stage>& stages = batch.pipeline->stages();
  const auto job_count = static_cast<std::uint32_t>(batch.jobs.size());
  const bool in_place = device_.properties().works_in_place;
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    buffer.table.begin_stage(stage, stages[stage].params, job_count);
    std::byte* source = buffer.areas[stage % 2].data();
    std::byte* target = buffer.areas[(stage + 1) % 2].data();
    const bool from_slot = in_place && stage == 0;
    const bool to_slot = in_place && stage + 1 == stages.size();
    for (std::uint32_t i = 0; i < job_count; ++i) {
      const BatchJob& entry = batch.jobs[i];
      const std::vector<Plan>& plans = entry.job.plan->plan.stages;
      const std::uint64_t in_bytes =
          stage == 0 ? entry.job.input_bytes : plans[stage - 1].max_output_bytes;
      const std::uint64_t out_bytes = plans[stage].max_output_bytes;
      overlap_batch_item& item = buffer.table.item(stage, i);
      buffer.table.link_item(stage, i, out_bytes);
      item.input_bytes = in_bytes;
      item.output_capacity_bytes = out_bytes;
      if (from_slot) {
        item.input = entry.channel->view().input(entry.job.slot).data();
      } else {
        item.input = source;
        source += footprint(in_bytes);
      }
      if (to_slot) {
        item.output = entry.channel->view().output(entry.job.slot).data();
      } else {
        item.output = target;
        target += footprint(out_bytes);
      }
    }
  }
  return {};
}

DeviceStatus Lane::enqueue_copies_in(Buffer& buffer) {
  ranges_.clear();
  std::byte* target = buffer.areas[0].data();
  for (const BatchJob& entry : buffer.batch.jobs) {
    const ChannelView& view = entry.channel->view();
    append_copy(
        ranges_, CopyDirection::in, entry.channel->pinning().inputs,
        {reinterpret_cast<std::byte*>(&view.header()),
         view.geometry().input_offset_bytes(entry.job.slot), target, entry.job.input_bytes});
    target += footprint(entry.job.input_bytes);
  }
  return device_.copy_in(in_, ranges_);
}

DeviceStatus Lane::enqueue_kernels(Buffer& buffer) {
  const std::vector<Stage>& stages = buffer.batch.pipeline->stages();
  const auto job_count = static_cast<std::uint32_t>(buffer.batch.jobs.size());
  for (std::size_t stage = 0; stage < stages.size(); ++stage) {
    std::uint64_t largest = 0;
    for (std::uint32_t i = 0; i < job_count; ++i) {
      largest = std::max(largest, buffer.table.item(stage, i).input_bytes);
    }
    overlap_batch batch =
        buffer.table.batch(stage, stages[stage].params.size(), job_count, largest);
    batch.workspace = buffer.workspace.data();
    batch.workspace_bytes = buffer.workspace.bytes();
    const DeviceStatus status = device_.launch(compute_, *stages[stage].kernel, batch);
    if (!status.ok()) {
      return status;
    }
  }
  return {};
}

DeviceStatus Lane::enqueue_copies_out(Buffer& buffer) {
  ranges_.clear();
  const std::size_t last = buffer.batch.pipeline->stages().size() - 1;
  const auto job_count = static_cast<std::uint32_t>(buffer.batch.jobs.size());
  for (std::uint32_t i = 0; i < job_count; ++i) {
    const BatchJob& entry = buffer.batch.jobs[i];
    const ChannelView& view = entry.channel->view();
    const overlap_batch_item& item = buffer.table.item(last, i);
    append_copy(ranges_, CopyDirection::out, entry.channel->pinning().outputs,
                {reinterpret_cast<std::byte*>(&view.header()),
                 view.geometry().output_offset_bytes(entry.job.slot),
                 static_cast<std::byte*>(item.output), item.output_capacity_bytes});
  }
  return device_.copy_out(out_, ranges_);
}

std::optional<Lane::Ended> Lane::harvest() {
  if (in_flight_ == 0) {
    return std::nullopt;
  }
  Buffer& buffer = buffers_[oldest_];
  if (buffer.status.outcome == DeviceOutcome::lost) {
    return Ended{buffer.status, &buffer.batch, &buffer.table};
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
  return Ended{buffer.status, &buffer.batch, &buffer.table};
}

void Lane::retire() {
  buffers_[oldest_].batch.clear();
  oldest_ = static_cast<std::uint32_t>((oldest_ + 1) % buffers_.size());
  --in_flight_;
}

}  // namespace overlap
