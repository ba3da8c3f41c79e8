#pragma once

#include "daemon/device/device.hpp"

#include <chrono>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace overlap {

/// What things cost on a `VirtualTimeDevice`.
struct VirtualCosts {
  /// Per copied range.
  std::chrono::nanoseconds copy_in{0};
  std::chrono::nanoseconds copy_out{0};
  /// Per item of a launched batch.
  std::chrono::nanoseconds kernel{0};
  /// Time of the engine's thread after each launch.
  std::chrono::nanoseconds host_per_issue{0};
  /// Time of the engine's thread for each event that a query finds over.
  std::chrono::nanoseconds host_per_harvest{0};
};

/// The resources of a `VirtualTimeDevice`.
struct VirtualResources {
  /// 1: one engine serves both directions. 2: one for each. 3: as 2, the third serves copies between
  /// devices, of which there are none here.
  std::uint32_t copy_engine_count = 2;
  std::uint32_t sm_count = 132;
  /// SMs that a kernel holds while it runs; 0 for all.
  std::uint32_t kernel_sm_count = 0;
  bool works_in_place = false;
  bool kernels_reach_pinned = false;
};

/// A device whose time is a number: runs the engine's own code against exact arithmetic.
///
/// A stream is in order. A copy engine serves copies in the order in which they become ready, ties by
/// issue order; so do the SMs with kernels, those of a higher priority first. Bytes really move and kernels really run, each at the end
/// of its virtual duration, so that a buffer used too early shows as a wrong result.
/// Calls can be made to fail by script. Restricted: one thread.
class VirtualTimeDevice final : public Device {
 public:
  enum class Call : std::uint8_t {
    pin,
    unpin,
    allocate,
    copy_in,
    copy_out,
    launch,
    record,
    complete
  };

  explicit VirtualTimeDevice(VirtualCosts costs, VirtualResources resources = {});

  /// Makes the `nth` call (from 1) of a kind end in `status`; `complete` is an event found over.
  void fail(Call call, std::uint64_t nth, DeviceStatus status);
  /// How long a launch takes instead of `VirtualCosts::kernel` per item: by kernel, or by bytes.
  using KernelCost = std::function<std::chrono::nanoseconds(const Kernel&, const overlap_batch&)>;
  void set_kernel_cost(KernelCost cost) { kernel_cost_ = std::move(cost); }
  /// Stops or goes on starting kernels: a kernel held back never ends by itself.
  void hold_kernels(bool hold) noexcept { kernels_held_ = hold; }

  /// Time of the engine's thread.
  [[nodiscard]] std::uint64_t now_ns() const noexcept { return host_now_ns_; }
  /// Moves time to the next moment at which something ends or starts.
  /// @return false if nothing is going on
  bool advance_to_next();
  /// When the last copy or kernel ended.
  [[nodiscard]] std::uint64_t last_end_ns() const noexcept { return last_end_ns_; }
  [[nodiscard]] std::uint64_t calls(Call call) const;
  /// Pinned ranges that were not unpinned.
  [[nodiscard]] std::size_t pinned_range_count() const noexcept { return pinned_.size(); }

  [[nodiscard]] const DeviceProperties& properties() const noexcept override { return properties_; }
  [[nodiscard]] std::string describe(int code) const override;
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
  /// Takes no time.
  DeviceStatus clear(StreamId stream, std::span<std::byte> memory) override;
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override;
  DeviceStatus record(EventId event, StreamId stream) override;
  DeviceStatus wait(StreamId stream, EventId event) override;
  [[nodiscard]] EventQuery query(EventId event) override;
  void ring_when_over(EventId event, int eventfd) override;

 private:
  enum class OpKind : std::uint8_t { copy_in, copy_out, kernel, clear, record, wait };

  struct Op {
    OpKind kind = OpKind::record;
    std::uint64_t issue_index = 0;
    StreamPriority priority = StreamPriority::normal;
    std::uint64_t issued_ns = 0;
    std::uint64_t duration_ns = 0;
    std::optional<std::uint64_t> ready_ns;
    std::optional<std::uint64_t> end_ns;
    CopyRange range{};
    const Kernel* kernel = nullptr;
    overlap_batch batch{};
    std::uint32_t event = 0;
    std::uint64_t generation = 0;
  };

  struct Event {
    std::uint64_t recorded_generation = 0;
    std::uint64_t harvested_generation = 0;
    /// What the query said that found the event over.
    EventQuery harvested;
    /// Recorded and not over. An event recorded anew on another stream may be over before its past.
    std::set<std::uint64_t> pending_generations;
  };

  [[nodiscard]] DeviceStatus scripted(Call call);
  DeviceStatus enqueue_copies(Call call, OpKind kind, StreamId stream,
                              std::span<const CopyRange> ranges, std::chrono::nanoseconds cost);
  void enqueue(StreamId stream, Op op);
  /// Plays the device up to `until_ns`.
  void settle(std::uint64_t until_ns);
  void pass_markers();
  void start_what_can();
  void finish_due();
  [[nodiscard]] std::optional<std::uint64_t> next_moment() const;
  [[nodiscard]] std::uint32_t engine_of(OpKind kind) const noexcept;

  DeviceProperties properties_;
  VirtualCosts costs_;
  KernelCost kernel_cost_;
  VirtualResources resources_;
  std::vector<std::deque<Op>> streams_;
  std::vector<StreamPriority> priorities_;
  std::vector<Event> events_;
  std::vector<bool> copy_engine_busy_;
  std::uint32_t free_sm_count_;
  bool kernels_held_ = false;
  std::uint64_t host_now_ns_ = 0;
  std::uint64_t device_now_ns_ = 0;
  std::uint64_t last_end_ns_ = 0;
  std::uint64_t issue_count_ = 0;
  std::map<Call, std::uint64_t> call_counts_;
  std::map<std::pair<Call, std::uint64_t>, DeviceStatus> script_;
  std::map<std::byte*, std::uint64_t> pinned_;
  std::map<std::byte*, std::unique_ptr<std::byte[]>> memory_;
};

}  // namespace overlap
