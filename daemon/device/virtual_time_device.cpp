#include "daemon/device/virtual_time_device.hpp"

#include "shared/file_descriptor.hpp"

#include <algorithm>
#include <cstring>
#include <tuple>

namespace overlap {
namespace {

/// The alignment that kernels are promised.
constexpr std::uint64_t kAlignmentBytes = 256;

std::size_t index_of(StreamId id) noexcept { return static_cast<std::size_t>(id); }
std::size_t index_of(EventId id) noexcept { return static_cast<std::size_t>(id); }

/// Lower goes first.
int rank(StreamPriority priority) noexcept {
  switch (priority) {
    case StreamPriority::high:
      return 0;
    case StreamPriority::normal:
      return 1;
    case StreamPriority::low:
      break;
  }
  return 2;
}

}  // namespace

VirtualTimeDevice::VirtualTimeDevice(VirtualCosts costs, VirtualResources resources)
    : costs_(costs),
      resources_(resources),
      copy_engine_busy_(resources.copy_engine_count, false),
      free_sm_count_(resources.sm_count) {
  properties_.backend = "virtual";
  properties_.name = "virtual time";
  properties_.works_in_place = resources.works_in_place;
  properties_.kernels_reach_pinned = resources.kernels_reach_pinned;
  properties_.copy_engine_count = resources.copy_engine_count;
}

void VirtualTimeDevice::fail(Call call, std::uint64_t nth, DeviceStatus status) {
  script_[{call, nth}] = status;
}

std::uint64_t VirtualTimeDevice::calls(Call call) const {
  const auto found = call_counts_.find(call);
  return found == call_counts_.end() ? 0 : found->second;
}

DeviceStatus VirtualTimeDevice::scripted(Call call) {
  const std::uint64_t nth = ++call_counts_[call];
  const auto found = script_.find({call, nth});
  return found == script_.end() ? DeviceStatus{} : found->second;
}

std::string VirtualTimeDevice::describe(int code) const {
  return "scripted error " + std::to_string(code);
}

DeviceStatus VirtualTimeDevice::pin(std::span<std::byte> range) {
  const DeviceStatus status = scripted(Call::pin);
  if (status.ok()) {
    pinned_[range.data()] = range.size();
  }
  return status;
}

DeviceStatus VirtualTimeDevice::unpin(std::byte* start) {
  const DeviceStatus status = scripted(Call::unpin);
  if (pinned_.erase(start) == 0) {
    return {DeviceOutcome::failed, -1};
  }
  return status;
}

std::byte* VirtualTimeDevice::allocate(std::uint64_t bytes) {
  if (!scripted(Call::allocate).ok()) {
    return nullptr;
  }
  auto owner = std::make_unique<std::byte[]>(bytes + kAlignmentBytes);
  void* start = owner.get();
  std::size_t space = bytes + kAlignmentBytes;
  auto* aligned = static_cast<std::byte*>(std::align(kAlignmentBytes, bytes, start, space));
  memory_[aligned] = std::move(owner);
  return aligned;
}

void VirtualTimeDevice::release(std::byte* memory) noexcept { memory_.erase(memory); }

std::byte* VirtualTimeDevice::allocate_host_table(std::uint64_t bytes) { return allocate(bytes); }

void VirtualTimeDevice::release_host_table(std::byte* memory) noexcept { memory_.erase(memory); }

StreamId VirtualTimeDevice::create_stream(StreamPriority priority) {
  streams_.emplace_back();
  priorities_.push_back(priority);
  return StreamId{static_cast<std::uint32_t>(streams_.size() - 1)};
}

EventId VirtualTimeDevice::create_event() {
  events_.emplace_back();
  return EventId{static_cast<std::uint32_t>(events_.size() - 1)};
}

void VirtualTimeDevice::enqueue(StreamId stream, Op op) {
  op.issue_index = issue_count_++;
  op.issued_ns = host_now_ns_;
  op.priority = op.kind == OpKind::kernel ? priorities_[index_of(stream)] : StreamPriority::normal;
  streams_[index_of(stream)].push_back(op);
}

DeviceStatus VirtualTimeDevice::enqueue_copies(Call call, OpKind kind, StreamId stream,
                                               std::span<const CopyRange> ranges,
                                               std::chrono::nanoseconds cost) {
  const DeviceStatus status = scripted(call);
  if (!status.ok()) {
    return status;
  }
  for (const CopyRange& range : ranges) {
    Op op;
    op.kind = kind;
    // A row takes what a copy of its own would.
    op.duration_ns = static_cast<std::uint64_t>(cost.count()) * range.rows;
    op.range = range;
    enqueue(stream, op);
  }
  return status;
}

DeviceStatus VirtualTimeDevice::copy_in(StreamId stream, std::span<const CopyRange> ranges) {
  return enqueue_copies(Call::copy_in, OpKind::copy_in, stream, ranges, costs_.copy_in);
}

DeviceStatus VirtualTimeDevice::copy_out(StreamId stream, std::span<const CopyRange> ranges) {
  return enqueue_copies(Call::copy_out, OpKind::copy_out, stream, ranges, costs_.copy_out);
}

DeviceStatus VirtualTimeDevice::launch(StreamId stream, const Kernel& kernel,
                                       const overlap_batch& batch) {
  const DeviceStatus status = scripted(Call::launch);
  if (!status.ok()) {
    return status;
  }
  Op op;
  op.kind = OpKind::kernel;
  const auto cost = kernel_cost_ ? kernel_cost_(kernel, batch) : costs_.kernel * batch.item_count;
  op.duration_ns = static_cast<std::uint64_t>(cost.count());
  op.kernel = &kernel;
  op.batch = batch;
  enqueue(stream, op);
  host_now_ns_ += static_cast<std::uint64_t>(costs_.host_per_issue.count());
  return status;
}

DeviceStatus VirtualTimeDevice::clear(StreamId stream, std::span<std::byte> memory) {
  Op op;
  op.kind = OpKind::clear;
  op.range = {memory.data(), nullptr, memory.size()};
  enqueue(stream, op);
  return {};
}

DeviceStatus VirtualTimeDevice::record(EventId event, StreamId stream) {
  const DeviceStatus status = scripted(Call::record);
  if (!status.ok()) {
    return status;
  }
  Op op;
  op.kind = OpKind::record;
  op.event = static_cast<std::uint32_t>(event);
  Event& recorded = events_[index_of(event)];
  op.generation = ++recorded.recorded_generation;
  recorded.pending_generations.insert(op.generation);
  enqueue(stream, op);
  return status;
}

DeviceStatus VirtualTimeDevice::wait(StreamId stream, EventId event) {
  Op op;
  op.kind = OpKind::wait;
  op.event = static_cast<std::uint32_t>(event);
  op.generation = events_[index_of(event)].recorded_generation;
  enqueue(stream, op);
  return {};
}

EventQuery VirtualTimeDevice::query(EventId event) {
  settle(host_now_ns_);
  Event& asked = events_[index_of(event)];
  if (asked.pending_generations.contains(asked.recorded_generation)) {
    return {EventState::pending, 0};
  }
  if (asked.harvested_generation == asked.recorded_generation) {
    // As a real one: asking again, before a sleep say, does not make an error go away.
    return asked.harvested;
  }
  asked.harvested_generation = asked.recorded_generation;
  host_now_ns_ += static_cast<std::uint64_t>(costs_.host_per_harvest.count());
  const DeviceStatus status = scripted(Call::complete);
  switch (status.outcome) {
    case DeviceOutcome::ok:
      asked.harvested = {EventState::ready, 0};
      break;
    case DeviceOutcome::failed:
      asked.harvested = {EventState::failed, status.code};
      break;
    case DeviceOutcome::lost:
      asked.harvested = {EventState::lost, status.code};
      break;
  }
  return asked.harvested;
}

void VirtualTimeDevice::ring_when_over(EventId /*event*/, int eventfd) {
  // May ring early: virtual time does not pass while somebody sleeps.
  ring(eventfd);
}

bool VirtualTimeDevice::advance_to_next() {
  settle(host_now_ns_);
  const auto next = next_moment();
  if (!next) {
    return false;
  }
  host_now_ns_ = std::max(host_now_ns_, *next);
  settle(host_now_ns_);
  return true;
}

std::uint32_t VirtualTimeDevice::engine_of(OpKind kind) const noexcept {
  return resources_.copy_engine_count == 1 || kind == OpKind::copy_in ? 0 : 1;
}

void VirtualTimeDevice::settle(std::uint64_t until_ns) {
  while (true) {
    finish_due();
    pass_markers();
    start_what_can();
    const auto next = next_moment();
    if (!next || *next > until_ns) {
      break;
    }
    device_now_ns_ = std::max(device_now_ns_, *next);
  }
  device_now_ns_ = std::max(device_now_ns_, until_ns);
  // Work issued by now may start now.
  pass_markers();
  start_what_can();
}

void VirtualTimeDevice::pass_markers() {
  bool moved = true;
  while (moved) {
    moved = false;
    for (auto& stream : streams_) {
      while (!stream.empty() && stream.front().issued_ns <= device_now_ns_) {
        const Op& op = stream.front();
        if (op.kind == OpKind::record) {
          events_[op.event].pending_generations.erase(op.generation);
        } else if (op.kind == OpKind::clear) {
          std::memset(op.range.destination, 0, op.range.bytes);
        } else if (op.kind != OpKind::wait ||
                   events_[op.event].pending_generations.contains(op.generation)) {
          break;
        }
        stream.pop_front();
        moved = true;
      }
    }
  }
}

void VirtualTimeDevice::start_what_can() {
  std::vector<Op*> candidates;
  for (auto& stream : streams_) {
    if (stream.empty() || stream.front().kind == OpKind::wait || stream.front().end_ns ||
        stream.front().issued_ns > device_now_ns_) {
      continue;
    }
    Op& op = stream.front();
    if (!op.ready_ns) {
      op.ready_ns = device_now_ns_;
    }
    candidates.push_back(&op);
  }
  std::sort(candidates.begin(), candidates.end(), [](const Op* a, const Op* b) {
    return std::tuple(rank(a->priority), *a->ready_ns, a->issue_index) <
           std::tuple(rank(b->priority), *b->ready_ns, b->issue_index);
  });
  const std::uint32_t sms =
      resources_.kernel_sm_count == 0 ? resources_.sm_count : resources_.kernel_sm_count;
  bool kernel_queue_blocked = kernels_held_;
  for (Op* op : candidates) {
    if (op->kind == OpKind::kernel) {
      // In order: a kernel that finds no room blocks the ones behind it.
      if (kernel_queue_blocked || free_sm_count_ < sms) {
        kernel_queue_blocked = true;
        continue;
      }
      free_sm_count_ -= sms;
    } else {
      const std::uint32_t engine = engine_of(op->kind);
      if (copy_engine_busy_[engine]) {
        continue;
      }
      copy_engine_busy_[engine] = true;
    }
    op->end_ns = device_now_ns_ + op->duration_ns;
  }
}

void VirtualTimeDevice::finish_due() {
  for (auto& stream : streams_) {
    if (stream.empty() || !stream.front().end_ns || *stream.front().end_ns > device_now_ns_) {
      continue;
    }
    const Op& op = stream.front();
    if (op.kind == OpKind::kernel) {
      op.kernel->run(op.batch);
      free_sm_count_ +=
          resources_.kernel_sm_count == 0 ? resources_.sm_count : resources_.kernel_sm_count;
    } else {
      copy_now(op.range);
      copy_engine_busy_[engine_of(op.kind)] = false;
    }
    last_end_ns_ = std::max(last_end_ns_, *op.end_ns);
    stream.pop_front();
  }
}

std::optional<std::uint64_t> VirtualTimeDevice::next_moment() const {
  std::optional<std::uint64_t> next;
  for (const auto& stream : streams_) {
    if (stream.empty()) {
      continue;
    }
    const Op& op = stream.front();
    std::optional<std::uint64_t> moment;
    if (op.end_ns) {
      moment = op.end_ns;
    } else if (op.issued_ns > device_now_ns_) {
      moment = op.issued_ns;
    }
    if (moment && (!next || *moment < *next)) {
      next = moment;
    }
  }
  return next;
}

}  // namespace overlap
