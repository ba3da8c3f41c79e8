#pragma once

#include "daemon/device/virtual_time_device.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace overlap::testing {

/// Input bytes of all jobs of a launch.
[[nodiscard]] inline std::uint64_t input_bytes(const overlap_batch& batch) {
  std::uint64_t sum = 0;
  const auto* const items = reinterpret_cast<const std::byte*>(batch.items);
  for (std::uint32_t i = 0; i < batch.item_count; ++i) {
    sum += reinterpret_cast<const overlap_batch_item*>(items + i * batch.item_stride_bytes)
               ->input_bytes;
  }
  return sum;
}

/// A kernel that takes so long for each byte.
[[nodiscard]] inline VirtualTimeDevice::KernelCost per_byte(std::uint64_t cost_ns) {
  return [=](const Kernel& /*kernel*/, const overlap_batch& batch) {
    return std::chrono::nanoseconds(cost_ns * input_bytes(batch));
  };
}

/// `scale` takes so long for each job, any other kernel 1 ms.
[[nodiscard]] inline VirtualTimeDevice::KernelCost slow_scale(std::chrono::nanoseconds scale) {
  return [=](const Kernel& kernel, const overlap_batch& batch) {
    return (kernel.name() == "scale" ? scale : std::chrono::milliseconds(1)) * batch.item_count;
  };
}

/// A producer that submits a slot again as soon as it has its answer.
class BackloggedProducer {
 public:
  BackloggedProducer(EngineHarness& engine, const std::string& pipeline, std::uint64_t job_bytes,
                     ChannelHarness::Shape shape)
      : job_bytes_(job_bytes), channel_(engine.attach({pipeline}, sized(shape, job_bytes))) {
    for (std::uint32_t slot = 0; slot < shape.slot_count; ++slot) {
      channel_.submit(slot, slot, job_bytes_);
    }
  }

  void refill() {
    for (const CompletionEntry& entry : channel_.collect()) {
      ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      ++done_;
      channel_.submit(entry.job_id, entry.slot, job_bytes_);
    }
  }
  /// Jobs that have ended since the last call.
  [[nodiscard]] std::uint64_t take_done() { return std::exchange(done_, 0); }

 private:
  static ChannelHarness::Shape sized(ChannelHarness::Shape shape, std::uint64_t bytes) {
    shape.input_bytes = bytes;
    shape.output_bytes = bytes;
    return shape;
  }

  std::uint64_t job_bytes_;
  std::uint64_t done_ = 0;
  ChannelHarness& channel_;
};

/// Lets everybody go on until a moment of virtual time.
inline void go_on_until(EngineHarness& engine, const std::vector<BackloggedProducer*>& producers,
                        std::uint64_t time_ns) {
  while (engine.device.now_ns() < time_ns) {
    for (BackloggedProducer* producer : producers) {
      producer->refill();
    }
    ASSERT_TRUE(engine.step() != 0 || engine.device.advance_to_next()) << "nothing goes on";
  }
}

}  // namespace overlap::testing
