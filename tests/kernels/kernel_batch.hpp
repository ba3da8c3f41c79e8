#pragma once

#include "kernels/pipeline.hpp"
#include "tests/kernels/awkward_input.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <new>
#include <stdexcept>
#include <utility>

namespace overlap::test {

[[nodiscard]] inline const KernelRegistry& builtin_kernels() {
  static const KernelRegistry kRegistry = KernelRegistry::with_builtin_kernels();
  return kRegistry;
}

/// The only stage of a pipeline's text.
[[nodiscard]] inline Stage stage_of(std::string_view text) {
  return Pipeline::parse(text, builtin_kernels()).stages().front();
}

/// Exactly `bytes` bytes at a 256-byte border, so that a sanitizer sees the first byte beyond.
class AlignedBytes {
 public:
  explicit AlignedBytes(std::size_t bytes) : size_(bytes) {
    void* memory = nullptr;
    if (posix_memalign(&memory, 256, std::max<std::size_t>(bytes, 1)) != 0) {
      throw std::bad_alloc();
    }
    memory_.reset(static_cast<std::byte*>(memory));
  }
  [[nodiscard]] std::span<std::byte> span() const { return {memory_.get(), size_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { std::free(memory); }
  };
  std::unique_ptr<std::byte, Free> memory_;
  std::size_t size_;
};

/// Jobs of one stage and one channel in host memory, with canary bytes behind every output and room
/// between the items, as a later minor version may have it.
class KernelBatch {
 public:
  KernelBatch(Stage stage, std::vector<std::vector<std::byte>> inputs,
              std::vector<std::byte> table = {})
      : stage_(std::move(stage)),
        inputs_(std::move(inputs)),
        table_(std::move(table)),
        statuses_(inputs_.size(), OVERLAP_ITEM_OK),
        items_(inputs_.size()) {
    std::uint64_t workspace_bytes = 0;
    std::uint64_t state_bytes = 0;
    for (const std::vector<std::byte>& input : inputs_) {
      const PlanOrRefusal planned = stage_.kernel->plan(stage_.params, input.size());
      if (const auto* const refusal = std::get_if<Refusal>(&planned)) {
        throw std::invalid_argument(refusal->text);
      }
      const Plan& plan = std::get<Plan>(planned);
      planned_bytes_.push_back(plan.max_output_bytes);
      workspace_bytes = std::max(workspace_bytes, plan.workspace_bytes);
      state_bytes = std::max(state_bytes, plan.state_bytes);
      input_areas_.emplace_back(input.size());
      std::copy(input.begin(), input.end(), input_areas_.back().span().begin());
      output_areas_.emplace_back(plan.max_output_bytes + kCanaryBytes);
      std::ranges::fill(output_areas_.back().span(), kCanary);
    }
    output_bytes_ = planned_bytes_;
    workspace_ = AlignedBytes(workspace_bytes * inputs_.size());
    state_ = AlignedBytes(state_bytes);
    reset_state();
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      items_[index].item = {input_areas_[index].span().data(),
                            inputs_[index].size(),
                            output_areas_[index].span().data(),
                            planned_bytes_[index],
                            stage_.params.data(),
                            state_bytes == 0 ? nullptr : state_.span().data(),
                            table_.empty() ? nullptr : table_.data(),
                            table_.size(),
                            &output_bytes_[index],
                            &statuses_[index]};
    }
  }

  void run() {
    std::uint64_t largest = 0;
    for (const std::vector<std::byte>& input : inputs_) {
      largest = std::max<std::uint64_t>(largest, input.size());
    }
    const overlap_batch batch{sizeof(overlap_batch),
                              sizeof(RoomyItem),
                              static_cast<std::uint32_t>(items_.size()),
                              static_cast<std::uint32_t>(stage_.params.size()),
                              &items_.front().item,
                              nullptr,
                              stage_.params.data(),
                              largest,
                              workspace_.span().data(),
                              workspace_.span().size(),
                              0,
                              0};
    stage_.kernel->run(batch);
  }

  /// Values that the jobs bring instead of the channel's; nothing is planned anew.
  void give_jobs(ParameterValues params) {
    stage_.params = std::move(params);
    for (RoomyItem& item : items_) {
      item.item.params = stage_.params.data();
    }
  }

  /// As before a channel's first job.
  void reset_state() { std::ranges::fill(state_.span(), std::byte{}); }
  [[nodiscard]] std::span<std::byte> state() { return state_.span(); }

  /// The output of job `index` and the canary bytes behind it.
  [[nodiscard]] std::span<std::byte> output_area(std::size_t index) {
    return output_areas_[index].span();
  }
  [[nodiscard]] std::span<std::byte> input_area(std::size_t index) {
    return input_areas_[index].span();
  }
  /// What job `index` made, as the kernel says.
  [[nodiscard]] std::span<std::byte> output(std::size_t index) {
    return output_areas_[index].span().first(output_bytes_[index]);
  }
  [[nodiscard]] std::uint32_t status(std::size_t index) const { return statuses_[index]; }

  /// Whole buffers: every output, every canary byte, every input unchanged.
  /// @pre with state: this was the channel's first batch
  [[nodiscard]] testing::AssertionResult matches_reference(ElementKind kind) const {
    return matches_reference(same_elements(kind));
  }
  [[nodiscard]] testing::AssertionResult matches_reference(const Comparison& difference_of) const {
    std::vector<std::byte> state(state_.span().size());
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      std::vector<std::byte> expected(planned_bytes_[index]);
      const std::uint64_t bytes =
          stage_.kernel->reference({stage_.params, inputs_[index], expected, table_, state});
      const auto area = output_areas_[index].span();
      const std::string where = "job " + std::to_string(index) + ": ";
      if (bytes != output_bytes_[index]) {
        return testing::AssertionFailure()
               << where << output_bytes_[index] << " bytes, the reference gave " << bytes;
      }
      const std::string difference =
          difference_of(area.first(bytes), std::span(expected).first(bytes));
      if (!difference.empty()) {
        return testing::AssertionFailure() << where << difference;
      }
      const auto canaries = area.subspan(expected.size());
      if (std::ranges::count(canaries, kCanary) != static_cast<std::ptrdiff_t>(kCanaryBytes)) {
        return testing::AssertionFailure() << where << "wrote beyond its output";
      }
      if (!std::ranges::equal(input_areas_[index].span(), inputs_[index])) {
        return testing::AssertionFailure() << where << "wrote to its input";
      }
    }
    return testing::AssertionSuccess();
  }

 private:
  static constexpr std::size_t kCanaryBytes = 64;
  static constexpr std::byte kCanary{0xa5};

  struct RoomyItem {
    overlap_batch_item item;
    std::uint64_t later_fields[2];
  };

  Stage stage_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::byte> table_;
  std::vector<AlignedBytes> input_areas_;
  std::vector<AlignedBytes> output_areas_;
  AlignedBytes workspace_{0};
  AlignedBytes state_{0};
  std::vector<std::uint64_t> planned_bytes_;
  std::vector<std::uint64_t> output_bytes_;
  std::vector<std::uint32_t> statuses_;
  std::vector<RoomyItem> items_;
};

/// The reference's answer for a whole job.
[[nodiscard]] inline std::vector<std::byte> reference_of(std::string_view text,
                                                         std::span<const std::byte> input) {
  return Pipeline::parse(text, builtin_kernels()).reference(input);
}

/// The text with which a stage refuses a size; empty if it accepts it.
[[nodiscard]] inline std::string refusal_of(std::string_view text, std::uint64_t input_bytes) {
  const PipelinePlanOrRefusal plan = Pipeline::parse(text, builtin_kernels()).plan(input_bytes);
  const auto* const refusal = std::get_if<Refusal>(&plan);
  return refusal == nullptr ? std::string() : refusal->text;
}

}  // namespace overlap::test
