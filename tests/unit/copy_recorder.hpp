#pragma once

#include "tests/unit/forwarding_device.hpp"

#include <span>
#include <vector>

namespace overlap::testing {

/// Keeps the copies that it was last asked for.
class CopyRecorder final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) override {
    ins.assign(ranges.begin(), ranges.end());
    return ForwardingDevice::copy_in(stream, ranges);
  }
  DeviceStatus copy_out(StreamId stream, std::span<const CopyRange> ranges) override {
    outs.assign(ranges.begin(), ranges.end());
    return ForwardingDevice::copy_out(stream, ranges);
  }

  std::vector<CopyRange> ins;
  std::vector<CopyRange> outs;
};

}  // namespace overlap::testing
