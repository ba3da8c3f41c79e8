#include "tests/bench/workload_layout.hpp"

#include "shared/byte_size.hpp"

#include <bit>
#include <cstring>
#include <stdexcept>
#include <string>

namespace overlap::bench {
namespace {

constexpr std::uint64_t kAlignmentBytes = 256;
constexpr std::size_t kPatternBytes = std::size_t{1} << 20U;

constexpr std::uint64_t aligned(std::uint64_t bytes) {
  return (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
}

/// The finaliser of splitmix64 (Steele, Lea and Flood, 2014).
constexpr std::uint64_t mixed(std::uint64_t index) {
  std::uint64_t bits = (index + 1) * 0x9e37'79b9'7f4a'7c15U;
  bits = (bits ^ bits >> 30U) * 0xbf58'476d'1ce4'e5b9U;
  bits = (bits ^ bits >> 27U) * 0x94d0'49bb'1331'11ebU;
  return bits ^ bits >> 31U;
}

/// Four bytes of the pattern.
std::uint32_t word(WorkloadData data, std::uint64_t index) {
  const std::uint64_t bits = mixed(index);
  switch (data) {
    case WorkloadData::f32:
      return std::bit_cast<std::uint32_t>(static_cast<float>(bits >> 40U) * 0x1p-24F);
    case WorkloadData::f16:
      // Without its highest bit an exponent is that of a number below 2.
      return static_cast<std::uint32_t>(bits) & 0xbfff'bfffU;
    case WorkloadData::bytes:
      break;
  }
  return static_cast<std::uint32_t>(bits);
}

}  // namespace

std::uint64_t WorkloadLayout::input_offset_bytes(std::uint32_t index) const noexcept {
  return aligned(table_bytes) + index * aligned(input_bytes);
}

std::uint64_t WorkloadLayout::output_offset_bytes(std::uint32_t index) const noexcept {
  return input_offset_bytes(job_count) + index * aligned(output_bytes);
}

std::uint64_t WorkloadLayout::arena_bytes() const noexcept {
  // The copy's second half begins at an aligned place as well.
  return output_offset_bytes(job_count) + kAlignmentBytes;
}

std::uint64_t WorkloadLayout::moved_bytes() const noexcept {
  return table_bytes + job_count * input_bytes + job_count * output_bytes / jobs_per_output;
}

std::uint64_t WorkloadLayout::copied_bytes() const noexcept { return moved_bytes() / 2; }

std::uint64_t WorkloadLayout::copy_offset_bytes() const noexcept { return aligned(copied_bytes()); }

WorkloadLayout layout_of(const Pipeline& pipeline, std::uint64_t most_job_bytes,
                         std::uint32_t job_count, std::uint32_t jobs_per_output) {
  const std::uint64_t input_bytes = pipeline.largest_input_bytes(most_job_bytes);
  if (input_bytes == 0) {
    throw std::runtime_error(pipeline.text() + " takes no job of up to " +
                             format_bytes(most_job_bytes) + "; name a smaller shape");
  }
  const Stage& stage = pipeline.stages().front();
  const PlanOrRefusal planned = stage.kernel->plan(stage.params, input_bytes);
  const Plan& plan = std::get<Plan>(planned);
  WorkloadLayout layout;
  layout.job_count = job_count;
  layout.input_bytes = input_bytes;
  layout.output_bytes = plan.max_output_bytes;
  layout.jobs_per_output = jobs_per_output;
  layout.table_bytes = stage.kernel->table_bytes(stage.params);
  layout.state_bytes = plan.state_bytes;
  layout.workspace_bytes = aligned(plan.workspace_bytes) * job_count;
  return layout;
}

overlap_batch_item item_of(const WorkloadLayout& layout, const Stage& stage,
                           const WorkloadPlaces& places, std::uint32_t index) {
  JobReport& report = places.reports[index];
  overlap_batch_item item{};
  item.input = places.arena + layout.input_offset_bytes(index);
  item.input_bytes = layout.input_bytes;
  item.output = places.arena + layout.output_offset_bytes(index);
  item.output_capacity_bytes = layout.output_bytes;
  item.params = stage.params.data();
  item.state = layout.state_bytes == 0 ? nullptr : places.state;
  item.table = layout.table_bytes == 0 ? nullptr : places.arena;
  item.table_bytes = layout.table_bytes;
  item.output_bytes = &report.output_bytes;
  item.status = &report.status;
  return item;
}

std::vector<std::byte> workload_pattern(WorkloadData data) {
  std::vector<std::byte> pattern(kPatternBytes);
  for (std::size_t at = 0; at < kPatternBytes; at += sizeof(std::uint32_t)) {
    const std::uint32_t bits = word(data, at / sizeof(std::uint32_t));
    std::memcpy(pattern.data() + at, &bits, sizeof bits);
  }
  return pattern;
}

}  // namespace overlap::bench
