#pragma once

#include "daemon/device/device.hpp"
#include "daemon/engine/pin_layout.hpp"
#include "tests/unit/channel_harness.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace overlap::test {

/// A producer whose memory the device has pinned, as the pin worker would.
class PinnedProducer {
 public:
  PinnedProducer(Device& device, std::uint64_t id, const std::string& pipeline,
                 const overlap::testing::ChannelHarness::Shape& shape,
                 const KernelRegistry& registry)
      : device_(device), harness_(id, {pipeline}, shape, &registry) {
    auto* base = reinterpret_cast<std::byte*>(&harness_.view().header());
    const PinLayout layout = plan_pinning(harness_.view().geometry(), shape.pin_chunk_bytes);
    for (const PinRange& range : pin_ranges(layout)) {
      const DeviceStatus status = device.pin({base + range.offset_bytes, range.bytes});
      if (!status.ok()) {
        (void)unpin();
        throw std::runtime_error("pin: " + device.describe(status.code));
      }
      pinned_.push_back(base + range.offset_bytes);
    }
  }
  ~PinnedProducer() {
    const DeviceStatus status = unpin();
    EXPECT_TRUE(status.ok()) << device_.describe(status.code);
  }
  PinnedProducer(const PinnedProducer&) = delete;
  PinnedProducer& operator=(const PinnedProducer&) = delete;

  overlap::testing::ChannelHarness& operator*() noexcept { return harness_; }
  overlap::testing::ChannelHarness* operator->() noexcept { return &harness_; }

 private:
  /// @return the first failure, if any
  DeviceStatus unpin() {
    DeviceStatus first;
    for (std::byte* const start : pinned_) {
      const DeviceStatus status = device_.unpin(start);
      first = first.ok() ? status : first;
    }
    return first;
  }

  Device& device_;
  overlap::testing::ChannelHarness harness_;
  std::vector<std::byte*> pinned_;
};

}  // namespace overlap::test
