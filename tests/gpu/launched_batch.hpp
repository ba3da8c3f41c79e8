#pragma once

#include "kernels/pipeline.hpp"
#include "tests/kernels/awkward_input.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <memory>
#include <stdexcept>
#include <utility>

namespace overlap::test {

inline constexpr std::size_t kAlignment = 256;
inline constexpr std::size_t kCanaryBytes = 64;
inline constexpr std::uint8_t kCanary = 0xa5;

inline void check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    throw std::runtime_error(std::string(what) + ": " + cudaGetErrorName(status));
  }
}

/// Where the jobs' bytes lie while the kernel runs.
enum class Place : std::uint8_t { device, pinned };

/// Memory that was used before: asking the driver for new takes longer than most of these tests.
/// Never given back. With OVERLAP_EXACT_MEMORY set nothing is kept, so that a memory checker sees every
/// border.
class UsedMemory {
 public:
  [[nodiscard]] static bool is_kept() { return std::getenv("OVERLAP_EXACT_MEMORY") == nullptr; }
  [[nodiscard]] static std::vector<void*>& of(Place place, std::size_t bytes) {
    static std::map<std::pair<Place, std::size_t>, std::vector<void*>> kept;
    return kept[{place, bytes}];
  }
};

/// Memory that a kernel can reach, filled with canary bytes.
class GpuBytes {
 public:
  GpuBytes(Place place, std::size_t bytes)
      : place_(place),
        bytes_(UsedMemory::is_kept() ? std::bit_ceil(std::max<std::size_t>(bytes, 256))
                                     : std::max<std::size_t>(bytes, 1)) {
    std::vector<void*>& used = UsedMemory::of(place, bytes_);
    if (!used.empty()) {
      memory_ = used.back();
      used.pop_back();
    } else if (place == Place::device) {
      check(cudaMalloc(&memory_, bytes_), "cudaMalloc");
    } else {
      check(cudaHostAlloc(&memory_, bytes_, cudaHostAllocMapped), "cudaHostAlloc");
    }
    device_view_ = memory_;
    if (place == Place::pinned) {
      check(cudaHostGetDevicePointer(&device_view_, memory_, 0), "cudaHostGetDevicePointer");
    }
    check(cudaMemset(device_view_, kCanary, std::max<std::size_t>(bytes, 1)), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  GpuBytes(const GpuBytes&) = delete;
  GpuBytes& operator=(const GpuBytes&) = delete;
  ~GpuBytes() {
    if (UsedMemory::is_kept()) {
      UsedMemory::of(place_, bytes_).push_back(memory_);
    } else {
      place_ == Place::device ? cudaFree(memory_) : cudaFreeHost(memory_);
    }
  }

  [[nodiscard]] std::byte* device() const { return static_cast<std::byte*>(device_view_); }
  /// @pre pinned
  [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(memory_); }

 private:
  Place place_;
  std::size_t bytes_;
  void* memory_ = nullptr;
  void* device_view_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStream"); }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  ~Stream() { cudaStreamDestroy(stream_); }
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

inline std::size_t aligned(std::size_t bytes) {
  return (bytes + kAlignment - 1) / kAlignment * kAlignment;
}

/// Room between the items, as a later minor version may have it.
struct RoomyItem {
  overlap_batch_item item;
  std::uint64_t later_fields[2];
};

/// The jobs of one stage and one channel, ready to be launched as one batch.
class LaunchedBatch {
 public:
  LaunchedBatch(const Stage& stage, Place place, std::vector<std::vector<std::byte>> inputs,
                std::vector<std::byte> table = {})
      : stage_(stage), inputs_(std::move(inputs)), table_bytes_(std::move(table)) {
    std::size_t input_bytes = 0;
    std::size_t workspace_bytes = 0;
    for (const std::vector<std::byte>& input : inputs_) {
      const PlanOrRefusal planned = stage_.kernel->plan(stage_.params, input.size());
      const Plan& plan = std::get<Plan>(planned);
      planned_bytes_.push_back(plan.max_output_bytes);
      input_offsets_.push_back(input_bytes);
      output_offsets_.push_back(area_bytes_);
      input_bytes += aligned(input.size());
      area_bytes_ += aligned(plan.max_output_bytes + kCanaryBytes);
      largest_bytes_ = std::max<std::uint64_t>(largest_bytes_, input.size());
      workspace_bytes = std::max<std::size_t>(workspace_bytes, aligned(plan.workspace_bytes));
      state_bytes_ = std::max<std::size_t>(state_bytes_, plan.state_bytes);
    }
    input_ = std::make_unique<GpuBytes>(place, input_bytes);
    output_ = std::make_unique<GpuBytes>(place, area_bytes_);
    items_ = std::make_unique<GpuBytes>(Place::pinned, inputs_.size() * sizeof(RoomyItem));
    reports_ = std::make_unique<GpuBytes>(Place::pinned, inputs_.size() * sizeof(Report));
    table_ = std::make_unique<GpuBytes>(Place::device, table_bytes_.size());
    state_ = std::make_unique<GpuBytes>(Place::device, state_bytes_);
    workspace_bytes_ = workspace_bytes * inputs_.size();
    workspace_ = std::make_unique<GpuBytes>(Place::device, workspace_bytes_);
    if (!table_bytes_.empty()) {
      check(
          cudaMemcpy(table_->device(), table_bytes_.data(), table_bytes_.size(), cudaMemcpyDefault),
          "cudaMemcpy");
    }
    if (state_bytes_ != 0) {
      check(cudaMemset(state_->device(), 0, state_bytes_), "cudaMemset");
    }
    auto* const items = reinterpret_cast<RoomyItem*>(items_->host());
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      std::byte* const input = input_->device() + input_offsets_[index];
      if (!inputs_[index].empty()) {
        check(cudaMemcpy(input, inputs_[index].data(), inputs_[index].size(), cudaMemcpyDefault),
              "cudaMemcpy");
      }
      reports()[index] = {planned_bytes_[index], OVERLAP_ITEM_OK, 0};
      auto* const report = reinterpret_cast<Report*>(reports_->device()) + index;
      items[index] = RoomyItem{};
      items[index].item = {input,
                           inputs_[index].size(),
                           output_->device() + output_offsets_[index],
                           planned_bytes_[index],
                           nullptr,
                           state_bytes_ == 0 ? nullptr : state_->device(),
                           table_bytes_.empty() ? nullptr : table_->device(),
                           table_bytes_.size(),
                           &report->output_bytes,
                           &report->status};
    }
    // The uploads and fills above went through another stream than the launch will.
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }

  [[nodiscard]] int launch(cudaStream_t stream) const {
    const overlap_batch batch{sizeof(overlap_batch),
                              sizeof(RoomyItem),
                              static_cast<std::uint32_t>(inputs_.size()),
                              static_cast<std::uint32_t>(stage_.params.size()),
                              reinterpret_cast<const overlap_batch_item*>(items_->host()),
                              reinterpret_cast<const overlap_batch_item*>(items_->device()),
                              stage_.params.data(),
                              largest_bytes_,
                              workspace_->device(),
                              workspace_bytes_,
                              0,
                              0};
    return stage_.kernel->launch(batch, stream);
  }

  /// Whole buffers: every output, and every byte between and behind them untouched.
  /// @pre with state: this was the channel's first batch
  [[nodiscard]] testing::AssertionResult matches_reference(ElementKind kind) const {
    return matches_reference(same_elements(kind));
  }
  [[nodiscard]] testing::AssertionResult matches_reference(const Comparison& difference_of) const {
    std::vector<std::byte> got(area_bytes_);
    std::vector<std::byte> state(state_bytes_);
    check(cudaMemcpy(got.data(), output_->device(), got.size(), cudaMemcpyDefault), "cudaMemcpy");
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      std::vector<std::byte> expected(planned_bytes_[index]);
      // No kernel is asked about nothing.
      const std::uint64_t bytes = inputs_[index].empty()
                                      ? 0
                                      : stage_.kernel->reference({stage_.params, inputs_[index],
                                                                  expected, table_bytes_, state});
      if (reports()[index].status != OVERLAP_ITEM_OK ||
          (!inputs_[index].empty() && reports()[index].output_bytes != bytes)) {
        return testing::AssertionFailure()
               << "job " << index << ": status " << reports()[index].status << ", "
               << reports()[index].output_bytes << " bytes instead of " << bytes;
      }
      const auto area = std::span(got).subspan(output_offsets_[index]);
      const std::string difference =
          difference_of(area.first(bytes), std::span(expected).first(bytes));
      if (!difference.empty()) {
        return testing::AssertionFailure() << "job " << index << ": " << difference;
      }
      const std::size_t slack = aligned(expected.size() + kCanaryBytes) - expected.size();
      if (std::ranges::count(area.subspan(expected.size(), slack), std::byte{kCanary}) !=
          static_cast<std::ptrdiff_t>(slack)) {
        return testing::AssertionFailure() << "job " << index << ": wrote beyond its output";
      }
    }
    return testing::AssertionSuccess();
  }

  [[nodiscard]] std::uint32_t status(std::size_t index) const { return reports()[index].status; }
  [[nodiscard]] std::uint64_t output_bytes(std::size_t index) const {
    return reports()[index].output_bytes;
  }
  /// The first bytes of job `index`'s output. @pre the launch is over
  [[nodiscard]] std::vector<std::byte> output(std::size_t index, std::size_t bytes) const {
    std::vector<std::byte> got(bytes);
    check(cudaMemcpy(got.data(), output_->device() + output_offsets_[index], bytes,
                     cudaMemcpyDefault),
          "cudaMemcpy");
    return got;
  }

  /// @pre the place is pinned
  [[nodiscard]] volatile float* pinned_input() const {
    return reinterpret_cast<volatile float*>(input_->host());
  }
  [[nodiscard]] volatile float* pinned_output() const {
    return reinterpret_cast<volatile float*>(output_->host());
  }

 private:
  struct Report {
    std::uint64_t output_bytes;
    std::uint32_t status;
    std::uint32_t padding;
  };

  [[nodiscard]] Report* reports() const { return reinterpret_cast<Report*>(reports_->host()); }

  const Stage& stage_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::byte> table_bytes_;
  std::vector<std::uint64_t> planned_bytes_;
  std::vector<std::size_t> input_offsets_;
  std::vector<std::size_t> output_offsets_;
  std::size_t area_bytes_ = 0;
  std::size_t state_bytes_ = 0;
  std::size_t workspace_bytes_ = 0;
  std::uint64_t largest_bytes_ = 0;
  std::unique_ptr<GpuBytes> input_;
  std::unique_ptr<GpuBytes> output_;
  std::unique_ptr<GpuBytes> items_;
  std::unique_ptr<GpuBytes> reports_;
  std::unique_ptr<GpuBytes> table_;
  std::unique_ptr<GpuBytes> state_;
  std::unique_ptr<GpuBytes> workspace_;
};

}  // namespace overlap::test
