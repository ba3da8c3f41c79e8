#include "tests/unit/shared_device.hpp"

#include "tests/unit/patience.hpp"

namespace overlap::testing {

void Gate::close() {
  const std::lock_guard lock(mutex_);
  closed_ = true;
}

void Gate::open() {
  {
    const std::lock_guard lock(mutex_);
    closed_ = false;
  }
  changed_.notify_all();
}

void Gate::pass() {
  std::unique_lock lock(mutex_);
  ++visitors_;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !closed_; });
  --visitors_;
}

bool Gate::await_visitor() {
  std::unique_lock lock(mutex_);
  return changed_.wait_until(lock, std::chrono::system_clock::now() + kPatience,
                             [this] { return closed_ && visitors_ != 0; });
}

void SharedDevice::fail(VirtualTimeDevice::Call call, std::uint64_t nth, DeviceStatus status) {
  const std::lock_guard lock(mutex_);
  virtual_device.fail(call, nth, status);
}

void SharedDevice::hold_kernels(bool hold) {
  const std::lock_guard lock(mutex_);
  virtual_device.hold_kernels(hold);
}

std::uint64_t SharedDevice::calls(VirtualTimeDevice::Call call) const {
  const std::lock_guard lock(mutex_);
  return virtual_device.calls(call);
}

std::size_t SharedDevice::pinned_range_count() const {
  const std::lock_guard lock(mutex_);
  return virtual_device.pinned_range_count();
}

DeviceStatus SharedDevice::pin(std::span<std::byte> range) {
  pin_gate.pass();
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::pin(range);
}

DeviceStatus SharedDevice::unpin(std::byte* start) {
  unpin_gate.pass();
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::unpin(start);
}

std::byte* SharedDevice::allocate(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::allocate(bytes);
}

void SharedDevice::release(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  ForwardingDevice::release(memory);
}

std::byte* SharedDevice::allocate_host_table(std::uint64_t bytes) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::allocate_host_table(bytes);
}

void SharedDevice::release_host_table(std::byte* memory) noexcept {
  const std::lock_guard lock(mutex_);
  ForwardingDevice::release_host_table(memory);
}

DeviceStatus SharedDevice::copy_in(StreamId stream, std::span<const CopyRange> ranges) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::copy_in(stream, ranges);
}

DeviceStatus SharedDevice::copy_out(StreamId stream, std::span<const CopyRange> ranges) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::copy_out(stream, ranges);
}

DeviceStatus SharedDevice::launch(StreamId stream, const Kernel& kernel,
                                  const overlap_batch& batch) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::launch(stream, kernel, batch);
}

DeviceStatus SharedDevice::record(EventId event, StreamId stream) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::record(event, stream);
}

DeviceStatus SharedDevice::wait(StreamId stream, EventId event) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::wait(stream, event);
}

EventQuery SharedDevice::query(EventId event) {
  const std::lock_guard lock(mutex_);
  return ForwardingDevice::query(event);
}

}  // namespace overlap::testing
