#include "daemon/engine/batch_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace overlap {

BatchTable::BatchTable(Device& device, std::uint32_t max_jobs) : max_jobs_(max_jobs) {
  const std::uint64_t cells = std::uint64_t{max_jobs} * kMaxStages;
  const std::uint64_t items_bytes = cells * sizeof(overlap_batch_item);
  const std::uint64_t params_bytes = kMaxStages * kMaxStageParameters * sizeof(overlap_param_value);
  const std::uint64_t output_bytes = cells * sizeof(std::uint64_t);
  const std::uint64_t bytes =
      items_bytes + params_bytes + output_bytes + cells * sizeof(std::uint32_t);
  memory_ = DeviceMemory(device, DeviceMemory::Kind::host_table, bytes);
  if (memory_.data() == nullptr) {
    throw std::runtime_error("no memory for a batch table of " + std::to_string(bytes) + " bytes");
  }
  std::byte* at = memory_.data();
  items_ = reinterpret_cast<overlap_batch_item*>(at);
  at += items_bytes;
  params_ = reinterpret_cast<overlap_param_value*>(at);
  at += params_bytes;
  output_bytes_ = reinterpret_cast<std::uint64_t*>(at);
  at += output_bytes;
  statuses_ = reinterpret_cast<std::uint32_t*>(at);
}

void BatchTable::begin_stage(std::size_t stage, ParameterView params,
                             std::uint32_t job_count) noexcept {
  std::copy(params.begin(), params.end(), params_ + stage * kMaxStageParameters);
  std::fill_n(statuses_ + stage * max_jobs_, job_count, std::uint32_t{OVERLAP_ITEM_OK});
}

void BatchTable::link_item(std::size_t stage, std::uint32_t job,
                           std::uint64_t planned_output_bytes) noexcept {
  const std::size_t cell = stage * max_jobs_ + job;
  overlap_batch_item& entry = items_[cell];
  entry.params = params_ + stage * kMaxStageParameters;
  entry.state = nullptr;
  entry.table = nullptr;
  entry.table_bytes = 0;
  entry.output_bytes = output_bytes_ + cell;
  entry.status = statuses_ + cell;
  output_bytes_[cell] = planned_output_bytes;
}

overlap_batch BatchTable::batch(std::size_t stage, std::size_t param_count, std::uint32_t job_count,
                                std::uint64_t max_input_bytes) const noexcept {
  overlap_batch result{};
  result.struct_bytes = sizeof result;
  result.item_stride_bytes = sizeof(overlap_batch_item);
  result.item_count = job_count;
  result.param_count = static_cast<std::uint32_t>(param_count);
  result.items = items_ + stage * max_jobs_;
  result.device_items = result.items;
  result.params = params_ + stage * kMaxStageParameters;
  result.max_input_bytes = max_input_bytes;
  return result;
}

}  // namespace overlap
