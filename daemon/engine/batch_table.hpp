#pragma once

#include "daemon/device/device_memory.hpp"
#include "daemon/engine/batch.hpp"

#include <cstdint>

namespace overlap {

/// The part of a lane's buffer that kernels read as their batch: items of every stage, parameters,
/// and what they report per job. Lies in memory that the GPU reads and only the daemon shares.
class BatchTable {
 public:
  BatchTable() = default;
  /// @throws std::runtime_error if the device has no memory for it
  BatchTable(Device& device, std::uint32_t max_jobs);

  /// Copies a stage's parameters in, and clears what the jobs reported.
  /// @pre stage < kMaxStages, at most kMaxStageParameters parameters, job_count <= max_jobs
  void begin_stage(std::size_t stage, ParameterView params, std::uint32_t job_count) noexcept;

  [[nodiscard]] overlap_batch_item& item(std::size_t stage, std::uint32_t job) noexcept {
    return items_[stage * max_jobs_ + job];
  }
  [[nodiscard]] const overlap_batch_item& item(std::size_t stage,
                                               std::uint32_t job) const noexcept {
    return items_[stage * max_jobs_ + job];
  }
  /// Fills in what is the same for every job and stage: parameters, places to report to.
  void link_item(std::size_t stage, std::uint32_t job, std::uint64_t planned_output_bytes) noexcept;

  /// The batch of one stage, as a kernel takes it.
  [[nodiscard]] overlap_batch batch(std::size_t stage, std::size_t param_count,
                                    std::uint32_t job_count,
                                    std::uint64_t max_input_bytes) const noexcept;

  /// What a stage reported of a job, once the batch is over.
  [[nodiscard]] std::uint32_t status(std::size_t stage, std::uint32_t job) const noexcept {
    return statuses_[stage * max_jobs_ + job];
  }
  /// Bytes that a stage made, or needs.
  [[nodiscard]] std::uint64_t output_bytes(std::size_t stage, std::uint32_t job) const noexcept {
    return output_bytes_[stage * max_jobs_ + job];
  }

 private:
  DeviceMemory memory_;
  std::uint32_t max_jobs_ = 0;
  overlap_batch_item* items_ = nullptr;
  overlap_param_value* params_ = nullptr;
  std::uint64_t* output_bytes_ = nullptr;
  std::uint32_t* statuses_ = nullptr;
};

}  // namespace overlap
