#include "tests/bench/host_workload.hpp"

#include "tests/bench/interruption.hpp"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace overlap::bench {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kAlignmentBytes = 256;

template <class Work>
double mean_seconds(std::chrono::nanoseconds duration, Work work) {
  throw_if_interrupted();
  const auto start = Clock::now();
  std::uint64_t count = 0;
  auto now = start;
  do {
    work();
    ++count;
    now = Clock::now();
  } while (now - start < duration);
  return std::chrono::duration<double>(now - start).count() / static_cast<double>(count);
}

std::byte* align(std::vector<std::byte>& memory) {
  const auto address = reinterpret_cast<std::uintptr_t>(memory.data());
  return memory.data() + (kAlignmentBytes - address % kAlignmentBytes) % kAlignmentBytes;
}

}  // namespace

HostWorkload::HostWorkload(const WorkloadParts& parts)
    : parts_(parts),
      memory_(parts.layout.arena_bytes() + kAlignmentBytes),
      state_(parts.layout.state_bytes + kAlignmentBytes),
      workspace_(parts.layout.workspace_bytes + kAlignmentBytes),
      reports_(parts.layout.job_count, {parts.layout.output_bytes, OVERLAP_ITEM_OK, 0}),
      arena_(align(memory_)) {
  const std::vector<std::byte> pattern = workload_pattern(parts.data);
  const std::uint64_t arena_bytes = parts.layout.arena_bytes();
  for (std::uint64_t at = 0; at < arena_bytes; at += pattern.size()) {
    std::memcpy(arena_ + at, pattern.data(),
                std::min<std::uint64_t>(pattern.size(), arena_bytes - at));
  }
  for (std::uint32_t index = 0; index < parts.layout.job_count; ++index) {
    items_.push_back(
        item_of(parts.layout, parts.stage, {arena_, align(state_), reports_.data()}, index));
  }
}

void HostWorkload::run() {
  overlap_batch batch{};
  batch.struct_bytes = sizeof batch;
  batch.item_stride_bytes = sizeof(overlap_batch_item);
  batch.item_count = parts_.layout.job_count;
  batch.param_count = static_cast<std::uint32_t>(parts_.stage.params.size());
  batch.items = items_.data();
  batch.params = parts_.stage.params.data();
  batch.max_input_bytes = parts_.layout.input_bytes;
  batch.workspace = align(workspace_);
  batch.workspace_bytes = parts_.layout.workspace_bytes;
  parts_.stage.kernel->run(batch);
  for (const JobReport& report : reports_) {
    if (report.status != OVERLAP_ITEM_OK) {
      throw std::runtime_error("a job on the host ended with status " +
                               std::to_string(report.status));
    }
  }
}

std::span<const std::byte> HostWorkload::output(std::uint32_t index) const {
  return {arena_ + parts_.layout.output_offset_bytes(index), reports_[index].output_bytes};
}

double HostWorkload::kernel_seconds(std::chrono::nanoseconds duration) {
  return mean_seconds(duration, [this] { run(); });
}

double HostWorkload::copy_seconds(std::chrono::nanoseconds duration) {
  return mean_seconds(duration, [this] {
    std::memcpy(arena_ + parts_.layout.copy_offset_bytes(), arena_, parts_.layout.copied_bytes());
  });
}

WorkloadOrReason make_host_workload(const WorkloadParts& parts) {
  if (!parts.stage.kernel->has_host()) {
    return {nullptr, "it has no host implementation"};
  }
  if (const auto refusal =
          parts.stage.kernel->prepare(parts.stage.params, parts.layout.input_bytes, false)) {
    return {nullptr, refusal->text};
  }
  return {std::make_unique<HostWorkload>(parts), ""};
}

}  // namespace overlap::bench
