#pragma once

#include "daemon/device/cuda_end_words.hpp"
#include "daemon/device/cuda_handles.hpp"
#include "daemon/device/cuda_ring.hpp"
#include "daemon/device/device.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace overlap {

/// One GPU, through the CUDA runtime.
///
/// Every failed call leaves the runtime's last error consumed, so no later call reports it. A lost
/// context stays lost: the process then leaves by `_exit`, and this object is not destroyed. If it
/// is all the same, every handle ignores its error.
class CudaDevice final : public Device {
 public:
  /// @throws CudaError if there is no such GPU, it cannot be used now, or host memory has another
  ///         address for it than for the host
  explicit CudaDevice(int index);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  /// @pre all work is over, all memory released, all ranges unpinned
  ~CudaDevice() override;

  /// Without one, `allocate` and `release` wait for running kernels.
  [[nodiscard]] bool has_memory_pool() const noexcept { return static_cast<bool>(pool_); }

  [[nodiscard]] const DeviceProperties& properties() const noexcept override { return properties_; }
  [[nodiscard]] std::string describe(int code) const override;

  /// Pinning exactly a range that is pinned already is a success and changes nothing.
  DeviceStatus pin(std::span<std::byte> range) override;
  /// Waits for every running kernel of the process.
  DeviceStatus unpin(std::byte* start) override;

  [[nodiscard]] std::optional<Refusal> prepare(const Kernel& kernel, ParameterView params,
                                               std::uint64_t input_bytes) override;
  /// Aligned to 256 bytes.
  [[nodiscard]] std::byte* allocate(std::uint64_t bytes) override;
  void release(std::byte* memory) noexcept override;
  [[nodiscard]] std::byte* allocate_host_table(std::uint64_t bytes) override;
  /// May wait for running kernels.
  void release_host_table(std::byte* memory) noexcept override;

  [[nodiscard]] StreamId create_stream(StreamPriority priority) override;
  [[nodiscard]] EventId create_event() override;

  DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) override;
  DeviceStatus copy_out(StreamId stream, std::span<const CopyRange> ranges) override;
  DeviceStatus clear(StreamId stream, std::span<std::byte> memory) override;
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override;
  DeviceStatus record(EventId event, StreamId stream) override;
  DeviceStatus record_end(EventId event, StreamId stream) override;
  DeviceStatus wait(StreamId stream, EventId event) override;
  [[nodiscard]] EventQuery query(EventId event) override;
  /// Rings wait for each other in the order armed; at most `CudaRing::kMaxArmed` are armed at once.
  void ring_when_over(EventId event, int eventfd) override;

 private:
  struct Event {
    CudaEvent handle;
    /// Which of all recordings on this device the last one was; 0 before the first.
    std::uint64_t recording = 0;
    /// Where a stream writes the lower half of the recording's number when it gets there; null if
    /// none does.
    const volatile std::uint32_t* word = nullptr;
    /// Whether the last recording was one that writes the word.
    bool writes_word = false;
    /// When the event itself was last asked, CLOCK_MONOTONIC.
    std::uint64_t asked_ns = 0;
  };

  DeviceStatus copy(StreamId stream, std::span<const CopyRange> ranges, cudaMemcpyKind kind);
  /// Turns the result of a call into a status. On failure consumes the last error and tells a
  /// failed call from a lost context. Thread safety: any.
  DeviceStatus settle(cudaError_t code) noexcept;
  /// Gives the device up after an error that leaves open what it still does, and consumes it.
  /// @return the code that it is lost with
  int lose(cudaError_t code) noexcept;
  [[nodiscard]] cudaStream_t handle(StreamId stream) const noexcept;
  [[nodiscard]] Event& at(EventId event) noexcept;

  const int index_;
  const DeviceProperties properties_;

  // Destroyed last to first: what uses memory goes before the pool.
  CudaMemoryPool pool_;
  /// For allocating, and for asking after the context; never waits for a lane.
  CudaStream set_up_;
  CudaEndWords end_words_;
  CudaRing ring_;
  std::vector<CudaStream> streams_;
  std::vector<Event> events_;
  std::uint64_t recording_count_ = 0;

  /// The error that lost the context; 0 while it lives.
  std::atomic<int> lost_code_ = 0;

  std::mutex pinned_mutex_;
  /// Start and bytes of every pinned range.
  std::map<std::byte*, std::size_t> pinned_;
};

}  // namespace overlap
