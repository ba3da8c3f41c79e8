#pragma once

#include "kernels/pipeline.hpp"
#include "tests/unit/awkward_input.hpp"

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

/// Jobs of one stage in host memory, with canary bytes behind every output and room between the
/// items, as a later minor version may have it.
class KernelBatch {
 public:
  KernelBatch(Stage stage, std::vector<std::vector<std::byte>> inputs)
      : stage_(std::move(stage)), inputs_(std::move(inputs)), items_(inputs_.size()) {
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      const std::vector<std::byte>& input = inputs_[index];
      const PlanOrRefusal plan = stage_.kernel->plan(stage_.params, input.size());
      if (const auto* const refusal = std::get_if<Refusal>(&plan)) {
        throw std::invalid_argument(refusal->text);
      }
      output_bytes_.push_back(std::get<Plan>(plan).max_output_bytes);
      input_areas_.emplace_back(input.size());
      std::copy(input.begin(), input.end(), input_areas_.back().span().begin());
      output_areas_.emplace_back(output_bytes_.back() + kCanaryBytes);
      std::ranges::fill(output_areas_.back().span(), kCanary);
    }
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      items_[index].item = {input_areas_[index].span().data(),
                            inputs_[index].size(),
                            output_areas_[index].span().data(),
                            output_bytes_[index],
                            stage_.params.data(),
                            nullptr,
                            nullptr,
                            0,
                            &output_bytes_[index],
                            &status_};
    }
  }

  void run() const {
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
                              nullptr,
                              0};
    stage_.kernel->run(batch);
  }

  /// The output of job `index` and the canary bytes behind it.
  [[nodiscard]] std::span<std::byte> output_area(std::size_t index) {
    return output_areas_[index].span();
  }
  [[nodiscard]] std::span<std::byte> input_area(std::size_t index) {
    return input_areas_[index].span();
  }

  /// Whole buffers: every output, every canary byte, every input unchanged.
  [[nodiscard]] testing::AssertionResult matches_reference(ElementKind kind) const {
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      std::vector<std::byte> expected(output_bytes_[index]);
      const std::uint64_t bytes = stage_.kernel->reference(stage_.params, inputs_[index], expected);
      const auto area = output_areas_[index].span();
      const std::string where = "job " + std::to_string(index) + ": ";
      if (bytes != expected.size()) {
        return testing::AssertionFailure() << where << "the reference gave " << bytes << " bytes";
      }
      const std::string difference = first_difference(kind, area.first(expected.size()), expected);
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
  std::vector<AlignedBytes> input_areas_;
  std::vector<AlignedBytes> output_areas_;
  std::vector<std::uint64_t> output_bytes_;
  std::uint32_t status_ = OVERLAP_ITEM_OK;
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
