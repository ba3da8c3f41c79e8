#include "daemon/engine/batch_table.hpp"

#include <algorithm>
#include <stdexcept>
#include <string>

namespace overlap {

BatchTable::BatchTable(Device& device, std::uint32_t max_cells) {
  const std::uint64_t items_bytes = std::uint64_t{max_cells} * sizeof(Cell);
  const std::uint64_t params_bytes = kMaxRows * kMaxStageParameters * sizeof(overlap_param_value);
  const std::uint64_t output_bytes = std::uint64_t{max_cells} * sizeof(std::uint64_t);
  const std::uint64_t bytes =
      items_bytes + params_bytes + output_bytes + std::uint64_t{max_cells} * sizeof(std::uint32_t);
  memory_ = DeviceMemory(device, DeviceMemory::Kind::host_table, bytes);
  if (memory_.data() == nullptr) {
    throw std::runtime_error("no memory for a batch table of " + std::to_string(bytes) + " bytes");
  }
  std::byte* at = memory_.data();
  items_ = reinterpret_cast<Cell*>(at);
  at += items_bytes;
  params_ = reinterpret_cast<overlap_param_value*>(at);
  at += params_bytes;
  output_bytes_ = reinterpret_cast<std::uint64_t*>(at);
  at += output_bytes;
  statuses_ = reinterpret_cast<std::uint32_t*>(at);
  // What never changes is where a cell reports to.
  for (std::uint32_t cell = 0; cell < max_cells; ++cell) {
    items_[cell].item = {};
    items_[cell].item.output_bytes = output_bytes_ + cell;
    items_[cell].item.status = statuses_ + cell;
  }
}

void BatchTable::begin(std::size_t row_count, std::uint32_t job_count) noexcept {
  for (std::size_t cell = 0; cell < cells_with_memory_; ++cell) {
    items_[cell].item.state = nullptr;
    items_[cell].item.table = nullptr;
    items_[cell].item.table_bytes = 0;
  }
  cells_with_memory_ = 0;
  row_count_ = row_count;
  job_count_ = job_count;
  std::fill_n(statuses_, row_count * job_count, std::uint32_t{OVERLAP_ITEM_OK});
  for (std::size_t cell = cells_of_row_0_; cell < job_count; ++cell) {
    items_[cell].item.params = params_;
  }
  for (std::size_t cell = job_count; cell < row_count * job_count; ++cell) {
    items_[cell].item.params = params_ + cell / job_count * kMaxStageParameters;
  }
  cells_of_row_0_ = row_count == 1 ? std::max<std::size_t>(cells_of_row_0_, job_count) : job_count;
}

void BatchTable::set_params(std::size_t row, ParameterView params) noexcept {
  std::copy(params.begin(), params.end(), params_ + row * kMaxStageParameters);
}

void BatchTable::set_memory(std::size_t row, std::uint32_t job, std::byte* state,
                            const std::byte* table, std::uint64_t table_bytes) noexcept {
  overlap_batch_item& entry = items_[row * job_count_ + job].item;
  entry.state = state;
  entry.table = table;
  entry.table_bytes = table_bytes;
  cells_with_memory_ = std::max(cells_with_memory_, row * job_count_ + job + 1);
}

overlap_batch BatchTable::batch(std::size_t row, std::size_t param_count,
                                std::uint64_t max_input_bytes, std::uint32_t flags) const noexcept {
  overlap_batch result{};
  result.struct_bytes = sizeof result;
  result.item_stride_bytes = sizeof(Cell);
  result.item_count = job_count_;
  result.param_count = static_cast<std::uint32_t>(param_count);
  result.items = &items_[row * job_count_].item;
  result.device_items = result.items;
  result.params = params_ + row * kMaxStageParameters;
  result.max_input_bytes = max_input_bytes;
  result.flags = flags;
  return result;
}

bool BatchTable::all_ok() const noexcept {
  static_assert(OVERLAP_ITEM_OK == 0);
  std::uint32_t any = 0;
  for (std::size_t cell = 0; cell < row_count_ * job_count_; ++cell) {
    any |= statuses_[cell];
  }
  return any == 0;
}

}  // namespace overlap
