#pragma once

#include "kernels/pipeline.hpp"
#include "tests/unit/awkward_input.hpp"

#include <cuda_runtime_api.h>
#include <gtest/gtest.h>

#include <algorithm>
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

/// Memory that a kernel can reach, filled with canary bytes.
class GpuBytes {
 public:
  GpuBytes(Place place, std::size_t bytes) : place_(place) {
    const std::size_t at_least = std::max<std::size_t>(bytes, 1);
    if (place == Place::device) {
      check(cudaMalloc(&memory_, at_least), "cudaMalloc");
      device_view_ = memory_;
    } else {
      check(cudaHostAlloc(&memory_, at_least, cudaHostAllocMapped), "cudaHostAlloc");
      check(cudaHostGetDevicePointer(&device_view_, memory_, 0), "cudaHostGetDevicePointer");
    }
    check(cudaMemset(device_view_, kCanary, at_least), "cudaMemset");
    check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  }
  GpuBytes(const GpuBytes&) = delete;
  GpuBytes& operator=(const GpuBytes&) = delete;
  ~GpuBytes() { place_ == Place::device ? cudaFree(memory_) : cudaFreeHost(memory_); }

  [[nodiscard]] std::byte* device() const { return static_cast<std::byte*>(device_view_); }
  /// @pre pinned
  [[nodiscard]] std::byte* host() const { return static_cast<std::byte*>(memory_); }

 private:
  Place place_;
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

/// The jobs of one stage, ready to be launched as one batch.
class LaunchedBatch {
 public:
  LaunchedBatch(const Stage& stage, Place place, std::vector<std::vector<std::byte>> inputs)
      : stage_(stage), inputs_(std::move(inputs)) {
    std::size_t input_bytes = 0;
    for (const std::vector<std::byte>& input : inputs_) {
      const PlanOrRefusal plan = stage_.kernel->plan(stage_.params, input.size());
      output_bytes_.push_back(std::get<Plan>(plan).max_output_bytes);
      input_offsets_.push_back(input_bytes);
      output_offsets_.push_back(area_bytes_);
      input_bytes += aligned(input.size());
      area_bytes_ += aligned(output_bytes_.back() + kCanaryBytes);
      largest_bytes_ = std::max<std::uint64_t>(largest_bytes_, input.size());
    }
    input_ = std::make_unique<GpuBytes>(place, input_bytes);
    output_ = std::make_unique<GpuBytes>(place, area_bytes_);
    items_ = std::make_unique<GpuBytes>(Place::pinned, inputs_.size() * sizeof(RoomyItem));
    auto* const items = reinterpret_cast<RoomyItem*>(items_->host());
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      std::byte* const input = input_->device() + input_offsets_[index];
      if (!inputs_[index].empty()) {
        check(cudaMemcpy(input, inputs_[index].data(), inputs_[index].size(), cudaMemcpyDefault),
              "cudaMemcpy");
      }
      items[index] = RoomyItem{};
      items[index].item.input = input;
      items[index].item.input_bytes = inputs_[index].size();
      items[index].item.output = output_->device() + output_offsets_[index];
      items[index].item.output_capacity_bytes = output_bytes_[index];
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
                              nullptr,
                              0};
    return stage_.kernel->launch(batch, stream);
  }

  /// Whole buffers: every output, and every byte between and behind them untouched.
  [[nodiscard]] testing::AssertionResult matches_reference(ElementKind kind) const {
    std::vector<std::byte> got(area_bytes_);
    check(cudaMemcpy(got.data(), output_->device(), got.size(), cudaMemcpyDefault), "cudaMemcpy");
    for (std::size_t index = 0; index < inputs_.size(); ++index) {
      std::vector<std::byte> expected(output_bytes_[index]);
      stage_.kernel->reference(stage_.params, inputs_[index], expected);
      const auto area = std::span(got).subspan(output_offsets_[index]);
      const std::string difference = first_difference(kind, area.first(expected.size()), expected);
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

  /// @pre the place is pinned
  [[nodiscard]] volatile float* pinned_input() const {
    return reinterpret_cast<volatile float*>(input_->host());
  }
  [[nodiscard]] volatile float* pinned_output() const {
    return reinterpret_cast<volatile float*>(output_->host());
  }

 private:
  const Stage& stage_;
  std::vector<std::vector<std::byte>> inputs_;
  std::vector<std::uint64_t> output_bytes_;
  std::vector<std::size_t> input_offsets_;
  std::vector<std::size_t> output_offsets_;
  std::size_t area_bytes_ = 0;
  std::uint64_t largest_bytes_ = 0;
  std::unique_ptr<GpuBytes> input_;
  std::unique_ptr<GpuBytes> output_;
  std::unique_ptr<GpuBytes> items_;
};

}  // namespace overlap::test
