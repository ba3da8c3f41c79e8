#pragma once

#include "daemon/device/device_memory.hpp"
#include "daemon/engine/batch.hpp"

#include <cstdint>

namespace overlap {

/// The part of a lane's buffer that kernels read as their batches: rows of items, one row a launch,
/// parameters, and what kernels report per job. Lies in memory that the GPU reads and only the daemon
/// shares.
class BatchTable {
 public:
  /// Launches of a batch: its stages, and one each to gather and to scatter.
  static constexpr std::size_t kMaxRows = kMaxStages + 2;

  BatchTable() = default;
  /// @param max_cells items of all rows together
  /// @throws std::runtime_error if the device has no memory for it
  BatchTable(Device& device, std::uint32_t max_cells);

  /// Lays the table out anew, with every item's parameters, and clears what jobs reported.
  /// @pre row_count is 1 to kMaxRows, row_count * job_count <= max_cells
  void begin(std::size_t row_count, std::uint32_t job_count) noexcept;
  /// Copies a row's parameters in. @pre at most kMaxStageParameters
  void set_params(std::size_t row, ParameterView params) noexcept;

  /// Sets what a kernel reads and writes for one job: half a cache line, the rest of an item stays.
  void set_item(std::size_t row, std::uint32_t job, const void* input, std::uint64_t input_bytes,
                void* output, std::uint64_t output_capacity_bytes) noexcept {
    overlap_batch_item& entry = items_[row * job_count_ + job].item;
    entry.input = input;
    entry.input_bytes = input_bytes;
    entry.output = output;
    entry.output_capacity_bytes = output_capacity_bytes;
  }
  /// Gives a job what its channel keeps for a stage, until the next `begin`.
  void set_memory(std::size_t row, std::uint32_t job, std::byte* state, const std::byte* table,
                  std::uint64_t table_bytes) noexcept;
  /// Sets the size that the plan expects, where it does not know it.
  void expect_output(std::size_t row, std::uint32_t job, std::uint64_t output_bytes) noexcept {
    output_bytes_[row * job_count_ + job] = output_bytes;
  }
  [[nodiscard]] const overlap_batch_item& item(std::size_t row, std::uint32_t job) const noexcept {
    return items_[row * job_count_ + job].item;
  }

  /// One row as a kernel takes it.
  /// @param flags overlap_batch_flags
  [[nodiscard]] overlap_batch batch(std::size_t row, std::size_t param_count,
                                    std::uint64_t max_input_bytes,
                                    std::uint32_t flags) const noexcept;

  /// Whether every launch left every job's status at OVERLAP_ITEM_OK, once the batch is over.
  [[nodiscard]] bool all_ok() const noexcept;
  /// What a row's launch reported of a job, once the batch is over.
  [[nodiscard]] std::uint32_t status(std::size_t row, std::uint32_t job) const noexcept {
    return statuses_[row * job_count_ + job];
  }
  /// Bytes that a row's launch made, or needs.
  [[nodiscard]] std::uint64_t output_bytes(std::size_t row, std::uint32_t job) const noexcept {
    return output_bytes_[row * job_count_ + job];
  }

 private:
  /// Padded so that what kernels read of an item first lies in one 32-byte sector of the bus.
  struct alignas(32) Cell {
    overlap_batch_item item;
  };

  DeviceMemory memory_;
  std::size_t row_count_ = 0;
  std::uint32_t job_count_ = 0;
  /// So many of the first cells may have a state or a table.
  std::size_t cells_with_memory_ = 0;
  /// So many of the first cells are those of row 0, as the next table of one row wants them.
  std::size_t cells_of_row_0_ = 0;
  Cell* items_ = nullptr;
  overlap_param_value* params_ = nullptr;
  std::uint64_t* output_bytes_ = nullptr;
  std::uint32_t* statuses_ = nullptr;
};

}  // namespace overlap
