#pragma once

#include "daemon/device/device.hpp"

namespace overlap::testing {

/// Hands every call on to another device, so that a test overrides only what it watches or breaks.
class ForwardingDevice : public Device {
 public:
  /// @pre next outlives it
  explicit ForwardingDevice(Device& next) : next_(next) {}

  [[nodiscard]] const DeviceProperties& properties() const noexcept override {
    return next_.properties();
  }
  [[nodiscard]] std::string describe(int code) const override { return next_.describe(code); }
  DeviceStatus pin(std::span<std::byte> range) override { return next_.pin(range); }
  DeviceStatus unpin(std::byte* start) override { return next_.unpin(start); }
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override { return next_.allocate(bytes); }
  void release(std::byte* memory) noexcept override { next_.release(memory); }
  [[nodiscard]] std::byte* allocate_host_table(std::uint64_t bytes) override {
    return next_.allocate_host_table(bytes);
  }
  void release_host_table(std::byte* memory) noexcept override { next_.release_host_table(memory); }
  [[nodiscard]] StreamId create_stream(StreamPriority priority) override {
    return next_.create_stream(priority);
  }
  [[nodiscard]] EventId create_event() override { return next_.create_event(); }
  DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) override {
    return next_.copy_in(stream, ranges);
  }
  DeviceStatus copy_out(StreamId stream, std::span<const CopyRange> ranges) override {
    return next_.copy_out(stream, ranges);
  }
  DeviceStatus clear(StreamId stream, std::span<std::byte> memory) override {
    return next_.clear(stream, memory);
  }
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override {
    return next_.launch(stream, kernel, batch);
  }
  DeviceStatus record(EventId event, StreamId stream) override {
    return next_.record(event, stream);
  }
  DeviceStatus wait(StreamId stream, EventId event) override { return next_.wait(stream, event); }
  [[nodiscard]] EventQuery query(EventId event) override { return next_.query(event); }
  void ring_when_over(EventId event, int eventfd) override { next_.ring_when_over(event, eventfd); }

 private:
  Device& next_;
};

}  // namespace overlap::testing
