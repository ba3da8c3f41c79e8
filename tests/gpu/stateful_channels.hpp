#pragma once

#include "tests/gpu/launched_batch.hpp"

namespace overlap::test {

/// A job of one of several channels, and what came of it.
struct ChannelJob {
  std::size_t channel = 0;
  std::vector<std::byte> input{};
  std::vector<std::byte> output{};
  std::uint32_t status = OVERLAP_ITEM_OK;
};

/// Channels that keep their state in device memory from batch to batch.
class StatefulChannels {
 public:
  /// @param largest_bytes of any job's input
  StatefulChannels(Stage stage, std::size_t channels, std::size_t largest_bytes,
                   std::vector<std::byte> table = {})
      : stage_(std::move(stage)), table_(Place::device, table.size()), table_bytes_(table.size()) {
    state_bytes_ = plan_of(largest_bytes).state_bytes;
    for (std::size_t channel = 0; channel < channels; ++channel) {
      states_.push_back(std::make_unique<GpuBytes>(Place::device, state_bytes_));
      check(cudaMemset(states_.back()->device(), 0, state_bytes_), "cudaMemset");
    }
    if (!table.empty()) {
      check(cudaMemcpy(table_.device(), table.data(), table.size(), cudaMemcpyDefault), "table");
    }
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  /// Launches the jobs as one batch, waits, and fills in their outputs.
  /// @param sizes_on_device as if a stage before had set the sizes
  void run(std::vector<ChannelJob>& jobs, cudaStream_t stream, bool sizes_on_device = false) {
    const GpuBytes items(Place::pinned, jobs.size() * sizeof(overlap_batch_item));
    const GpuBytes reports(Place::pinned, jobs.size() * sizeof(Report));
    auto* const item = reinterpret_cast<overlap_batch_item*>(items.host());
    auto* const report = reinterpret_cast<Report*>(reports.host());
    auto* const device_report = reinterpret_cast<Report*>(reports.device());
    std::vector<std::unique_ptr<GpuBytes>> inputs;
    std::vector<std::unique_ptr<GpuBytes>> outputs;
    std::uint64_t largest = 0;
    std::uint64_t workspace_bytes = 0;
    for (std::size_t index = 0; index < jobs.size(); ++index) {
      const ChannelJob& job = jobs[index];
      const Plan plan = plan_of(job.input.size());
      largest = std::max<std::uint64_t>(largest, job.input.size());
      workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
      inputs.push_back(std::make_unique<GpuBytes>(Place::device, job.input.size()));
      outputs.push_back(std::make_unique<GpuBytes>(Place::device, plan.max_output_bytes));
      if (!job.input.empty()) {
        check(cudaMemcpy(inputs.back()->device(), job.input.data(), job.input.size(),
                         cudaMemcpyDefault),
              "input");
      }
      report[index] = {plan.max_output_bytes, OVERLAP_ITEM_OK, 0};
      item[index] = {inputs.back()->device(),
                     job.input.size(),
                     outputs.back()->device(),
                     plan.max_output_bytes,
                     nullptr,
                     state_bytes_ == 0 ? nullptr : states_[job.channel]->device(),
                     table_bytes_ == 0 ? nullptr : table_.device(),
                     table_bytes_,
                     &device_report[index].output_bytes,
                     &device_report[index].status};
    }
    const GpuBytes workspace(Place::device, workspace_bytes * jobs.size());
    const overlap_batch batch{sizeof(overlap_batch),
                              sizeof(overlap_batch_item),
                              static_cast<std::uint32_t>(jobs.size()),
                              static_cast<std::uint32_t>(stage_.params.size()),
                              item,
                              reinterpret_cast<const overlap_batch_item*>(items.device()),
                              stage_.params.data(),
                              largest,
                              workspace.device(),
                              workspace_bytes * jobs.size(),
                              sizes_on_device ? std::uint32_t{OVERLAP_BATCH_SIZES_ON_DEVICE} : 0U,
                              0};
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
    ASSERT_EQ(stage_.kernel->launch(batch, stream), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream), cudaSuccess);
    for (std::size_t index = 0; index < jobs.size(); ++index) {
      jobs[index].status = report[index].status;
      jobs[index].output.resize(report[index].output_bytes);
      if (!jobs[index].output.empty()) {
        check(cudaMemcpy(jobs[index].output.data(), outputs[index]->device(),
                         jobs[index].output.size(), cudaMemcpyDefault),
              "output");
      }
    }
  }

  [[nodiscard]] std::vector<std::byte> state(std::size_t channel) const {
    std::vector<std::byte> bytes(state_bytes_);
    check(cudaMemcpy(bytes.data(), states_[channel]->device(), bytes.size(), cudaMemcpyDefault),
          "state");
    return bytes;
  }

 private:
  struct Report {
    std::uint64_t output_bytes;
    std::uint32_t status;
    std::uint32_t padding;
  };

  [[nodiscard]] Plan plan_of(std::size_t input_bytes) const {
    return std::get<Plan>(stage_.kernel->plan(stage_.params, input_bytes));
  }

  Stage stage_;
  GpuBytes table_;
  std::size_t table_bytes_;
  std::uint64_t state_bytes_ = 0;
  std::vector<std::unique_ptr<GpuBytes>> states_;
};

/// The reference over the same jobs, batch after batch.
class ReferenceChannels {
 public:
  ReferenceChannels(Stage stage, std::size_t channels, std::size_t largest_bytes,
                    std::vector<std::byte> table = {})
      : stage_(std::move(stage)), table_(std::move(table)) {
    const auto plan = std::get<Plan>(stage_.kernel->plan(stage_.params, largest_bytes));
    states_.assign(channels, std::vector<std::byte>(plan.state_bytes));
  }

  [[nodiscard]] std::vector<std::byte> output_of(const ChannelJob& job) {
    if (job.input.empty()) {
      return {};
    }
    const auto plan = std::get<Plan>(stage_.kernel->plan(stage_.params, job.input.size()));
    std::vector<std::byte> output(plan.max_output_bytes);
    output.resize(
        stage_.kernel->reference({stage_.params, job.input, output, table_, states_[job.channel]}));
    return output;
  }

 private:
  Stage stage_;
  std::vector<std::byte> table_;
  std::vector<std::vector<std::byte>> states_;
};

}  // namespace overlap::test
