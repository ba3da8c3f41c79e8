#pragma once

#include "daemon/device/device.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace overlap {

/// The CPU as a device: kernels work in the slots themselves, on worker threads or, with none, on the
/// engine's own thread inside `launch`.
///
/// Each stream belongs to one worker, so a stream is in order without a lock: the engine's thread and
/// the worker share a ring of one writer and one reader.
class HostDevice final : public Device {
 public:
  /// @param worker_count 0: kernels run on the engine's thread
  explicit HostDevice(std::uint32_t worker_count);
  ~HostDevice() override;
  HostDevice(const HostDevice&) = delete;
  HostDevice& operator=(const HostDevice&) = delete;

  [[nodiscard]] const DeviceProperties& properties() const noexcept override { return properties_; }
  [[nodiscard]] std::string describe(int code) const override;
  /// There is nothing to pin: the CPU reaches every page that the daemon has touched.
  DeviceStatus pin(std::span<std::byte> range) override;
  DeviceStatus unpin(std::byte* start) override;
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override;
  void release(std::byte* memory) noexcept override;
  [[nodiscard]] std::byte* allocate_host_table(std::uint64_t bytes) override;
  void release_host_table(std::byte* memory) noexcept override;
  [[nodiscard]] StreamId create_stream(StreamPriority priority) override;
  [[nodiscard]] EventId create_event() override;
  DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) override;
  DeviceStatus copy_out(StreamId stream, std::span<const CopyRange> ranges) override;
  DeviceStatus clear(StreamId stream, std::span<std::byte> memory) override;
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override;
  DeviceStatus record(EventId event, StreamId stream) override;
  DeviceStatus wait(StreamId stream, EventId event) override;
  [[nodiscard]] EventQuery query(EventId event) override;
  void ring_when_over(EventId event, int eventfd) override;

 private:
  class Worker;

  /// A stream is a worker and how far it must get; an event is a copy of that.
  struct Stream {
    Worker* worker = nullptr;
    std::uint64_t last_task = 0;
  };

  DeviceStatus run_copies(StreamId stream, std::span<const CopyRange> ranges);

  DeviceProperties properties_;
  std::vector<std::unique_ptr<Worker>> workers_;
  std::vector<Stream> streams_;
  std::vector<Stream> events_;
};

}  // namespace overlap
