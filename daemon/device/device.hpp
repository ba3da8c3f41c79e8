#pragma once

#include "daemon/device/copy_range.hpp"
#include "kernels/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace overlap {

/// A stream of a device: work in it runs in order. There is no default stream to slip in.
enum class StreamId : std::uint32_t {};
/// A marker in a stream; times nothing.
enum class EventId : std::uint32_t {};

/// Which of two waiting kernels of different streams goes first, where the device knows of such.
enum class StreamPriority : std::uint8_t { normal, high, low };

/// How a call to a device ended. `lost` is final: nothing will ever run there again.
enum class DeviceOutcome : std::uint8_t { ok, failed, lost };

struct [[nodiscard]] DeviceStatus {
  DeviceOutcome outcome = DeviceOutcome::ok;
  /// The device's own error number; 0 for none.
  int code = 0;

  [[nodiscard]] bool ok() const noexcept { return outcome == DeviceOutcome::ok; }
};

/// A query never reads an error as "not yet", nor one that leaves open whether the work is over as
/// over: the work of a `failed` event touches no memory any more, that of a `lost` one may. Of the
/// devices here only `VirtualTimeDevice` knows the first.
enum class EventState : std::uint8_t { ready, pending, failed, lost };

struct EventQuery {
  EventState state = EventState::ready;
  int code = 0;
};

/// What is fixed about a device for its life.
struct DeviceProperties {
  /// "cuda", "host" or "virtual".
  std::string backend;
  std::string name;
  /// Kernels work in the slots themselves: no device buffers, no copies.
  bool works_in_place = false;
  /// Kernels can read and write pinned host memory themselves, over the bus.
  bool kernels_reach_pinned = false;
  /// Lanes and batches per lane that suit it when the configuration does not say.
  std::uint32_t default_lane_count = 4;
  std::uint32_t default_depth = 2;
  std::uint32_t copy_engine_count = 2;
  /// NUMA node next to it; negative if unknown.
  int numa_node = -1;
};

/// Everything the engine needs of a device, and nothing else.
///
/// Errors after construction are values. Thread safety: `pin`, `unpin`, `prepare`, `properties` and
/// `describe` from any thread; everything else from the engine's thread alone.
class Device {
 public:
  virtual ~Device() = default;

  [[nodiscard]] virtual const DeviceProperties& properties() const noexcept = 0;
  /// The name of an error number of this device.
  [[nodiscard]] virtual std::string describe(int code) const = 0;

  /// Makes host memory fit for asynchronous copies. Kernels and copies may touch it from then on.
  /// @pre page-aligned and not pinned yet; one copy stays within one pinned range
  virtual DeviceStatus pin(std::span<std::byte> range) = 0;
  /// @pre `start` began a pinned range that no work uses any more
  virtual DeviceStatus unpin(std::byte* start) = 0;

  /// Has a kernel make, on this thread, what its first batch would have to wait for. May take long.
  /// @return why jobs up to this size would not run, if so
  [[nodiscard]] virtual std::optional<Refusal> prepare(const Kernel& kernel, ParameterView params,
                                                       std::uint64_t input_bytes) {
    return kernel.prepare(params, input_bytes, false);
  }

  /// Memory that kernels use; null if there is not enough. Blocks no running work.
  [[nodiscard]] virtual std::byte* allocate(std::uint64_t bytes) = 0;
  virtual void release(std::byte* memory) noexcept = 0;
  /// Host memory of the daemon alone that kernels can read and write; null if there is not enough.
  [[nodiscard]] virtual std::byte* allocate_host_table(std::uint64_t bytes) = 0;
  virtual void release_host_table(std::byte* memory) noexcept = 0;

  /// @throws std::runtime_error
  [[nodiscard]] virtual StreamId create_stream(StreamPriority priority) = 0;
  /// @throws std::runtime_error
  [[nodiscard]] virtual EventId create_event() = 0;

  /// Host to device; the ranges run in any order. Returns at once.
  /// @pre no range overlaps another
  virtual DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) = 0;
  /// Device to host; the ranges run in any order. Returns at once.
  /// @pre no range overlaps another
  virtual DeviceStatus copy_out(StreamId stream, std::span<const CopyRange> ranges) = 0;
  /// Fills device memory with zero bytes. Returns at once.
  virtual DeviceStatus clear(StreamId stream, std::span<std::byte> memory) = 0;
  /// Runs a kernel over a batch. `batch` itself is read before the call returns, its items later.
  virtual DeviceStatus launch(StreamId stream, const Kernel& kernel,
                              const overlap_batch& batch) = 0;
  virtual DeviceStatus record(EventId event, StreamId stream) = 0;
  /// As `record`, for an event that the host will ask after: where the device knows a way, `query` is
  /// cheap and sees it sooner.
  virtual DeviceStatus record_end(EventId event, StreamId stream) { return record(event, stream); }
  /// What comes later in `stream` waits for `event`; the caller does not.
  virtual DeviceStatus wait(StreamId stream, EventId event) = 0;
  [[nodiscard]] virtual EventQuery query(EventId event) = 0;

  /// Rings `eventfd` once `event` is over. May ring early or twice; never reports an error, so the
  /// sleeper bounds its sleep.
  virtual void ring_when_over(EventId event, int eventfd) = 0;
};

}  // namespace overlap
