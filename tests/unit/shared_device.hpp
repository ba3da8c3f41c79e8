#pragma once

#include "daemon/device/virtual_time_device.hpp"
#include "tests/unit/forwarding_device.hpp"

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <span>

namespace overlap::testing {

/// Where a thread can be made to stop. Open at first. Any thread.
class Gate {
 public:
  void close();
  void open();
  /// Returns once the gate is open.
  void pass();
  /// Waits until a thread stands before the closed gate.
  /// @return false if patience ended
  [[nodiscard]] bool await_visitor();

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  bool closed_ = false;
  std::size_t visitors_ = 0;
};

/// Made before the device that refers to it.
struct VirtualDeviceHolder {
  VirtualTimeDevice virtual_device{VirtualCosts{}};
};

/// A virtual-time device that the engine's thread, the pin worker and a test may call at once, and
/// whose pinning can be made to wait. Everything costs no time.
class SharedDevice final : private VirtualDeviceHolder, public ForwardingDevice {
 public:
  SharedDevice() : ForwardingDevice(virtual_device) {}

  Gate pin_gate;
  Gate unpin_gate;

  void fail(VirtualTimeDevice::Call call, std::uint64_t nth, DeviceStatus status);
  void hold_kernels(bool hold);
  [[nodiscard]] std::uint64_t calls(VirtualTimeDevice::Call call) const;
  [[nodiscard]] std::size_t pinned_range_count() const;

  DeviceStatus pin(std::span<std::byte> range) override;
  DeviceStatus unpin(std::byte* start) override;
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override;
  void release(std::byte* memory) noexcept override;
  [[nodiscard]] std::byte* allocate_host_table(std::uint64_t bytes) override;
  void release_host_table(std::byte* memory) noexcept override;
  DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) override;
  DeviceStatus copy_out(StreamId stream, std::span<const CopyRange> ranges) override;
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override;
  DeviceStatus record(EventId event, StreamId stream) override;
  DeviceStatus wait(StreamId stream, EventId event) override;
  [[nodiscard]] EventQuery query(EventId event) override;

 private:
  mutable std::mutex mutex_;
};

}  // namespace overlap::testing
