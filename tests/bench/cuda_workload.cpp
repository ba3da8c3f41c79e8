#include "tests/bench/host_workload.hpp"
#include "tests/bench/interruption.hpp"
#include "tests/bench/result_difference.hpp"
#include "tests/bench/vendor_call.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <utility>

namespace overlap::bench {
namespace {

using Clock = std::chrono::steady_clock;

/// Batches enqueued before the GPU may begin: enough that it never waits for the next one, few enough
/// that the driver's queue holds them.
constexpr std::uint64_t kMostQueued = 64;
/// If the queue does not hold them all the same, enqueueing goes on beside the GPU from here on.
constexpr std::chrono::milliseconds kLongestGate{50};

void check(cudaError_t error, const std::string& what) {
  if (error != cudaSuccess) {
    throw std::runtime_error(what + ": " + cudaGetErrorString(error));
  }
}

/// Memory of the device, or pinned memory that both see, which goes with this object.
class Memory {
 public:
  enum class Kind : std::uint8_t { device, pinned };

  Memory(Kind kind, std::uint64_t bytes) : kind_(kind) {
    const std::uint64_t at_least = std::max<std::uint64_t>(bytes, 1);
    const std::string what = "memory of " + std::to_string(bytes) + " bytes";
    if (kind == Kind::device) {
      check(cudaMalloc(&memory_, at_least), what);
      device_view_ = memory_;
    } else {
      check(cudaHostAlloc(&memory_, at_least, cudaHostAllocMapped), what);
      const cudaError_t seen = cudaHostGetDevicePointer(&device_view_, memory_, 0);
      if (seen != cudaSuccess) {
        cudaFreeHost(memory_);
        check(seen, what);
      }
    }
  }
  ~Memory() {
    static_cast<void>(kind_ == Kind::device ? cudaFree(memory_) : cudaFreeHost(memory_));
  }
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  template <class Type>
  [[nodiscard]] Type* device() const {
    return static_cast<Type*>(device_view_);
  }
  /// @pre pinned
  template <class Type>
  [[nodiscard]] Type* host() const {
    return static_cast<Type*>(memory_);
  }

 private:
  Kind kind_;
  void* memory_ = nullptr;
  void* device_view_ = nullptr;
};

class Stream {
 public:
  Stream() { check(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "a stream"); }
  ~Stream() {
    static_cast<void>(cudaStreamSynchronize(stream_));
    static_cast<void>(cudaStreamDestroy(stream_));
  }
  Stream(const Stream&) = delete;
  Stream& operator=(const Stream&) = delete;
  [[nodiscard]] cudaStream_t get() const { return stream_; }

 private:
  cudaStream_t stream_ = nullptr;
};

class TimedEvent {
 public:
  TimedEvent() { check(cudaEventCreate(&event_), "an event"); }
  ~TimedEvent() { static_cast<void>(cudaEventDestroy(event_)); }
  TimedEvent(const TimedEvent&) = delete;
  TimedEvent& operator=(const TimedEvent&) = delete;
  [[nodiscard]] cudaEvent_t get() const { return event_; }

 private:
  cudaEvent_t event_ = nullptr;
};

/// Keeps the GPU from what comes behind it in the stream until it is opened, so that the time between
/// two events is the GPU's own and not that of the calls that enqueue.
class Gate {
 public:
  void close_in(cudaStream_t stream) {
    open_.store(false, std::memory_order_relaxed);
    check(cudaLaunchHostFunc(stream, &Gate::wait, this), "a gate");
  }
  void open() noexcept { open_.store(true, std::memory_order_relaxed); }

 private:
  static void CUDART_CB wait(void* self) {
    const auto end = Clock::now() + kLongestGate;
    // Nothing but the flag itself is handed over.
    while (!static_cast<Gate*>(self)->open_.load(std::memory_order_relaxed) && Clock::now() < end) {
      std::this_thread::yield();
    }
  }

  std::atomic<bool> open_{true};
};

class CudaWorkload final : public MeasuredWorkload {
 public:
  explicit CudaWorkload(const WorkloadParts& parts)
      : parts_(parts),
        arena_(Memory::Kind::device, parts.layout.arena_bytes()),
        state_(Memory::Kind::device, parts.layout.state_bytes),
        workspace_(Memory::Kind::device, parts.layout.workspace_bytes),
        items_(Memory::Kind::pinned, parts.layout.job_count * sizeof(overlap_batch_item)),
        reports_(Memory::Kind::pinned, parts.layout.job_count * sizeof(JobReport)) {
    fill();
    for (std::uint32_t index = 0; index < parts.layout.job_count; ++index) {
      reports_.host<JobReport>()[index] = {parts.layout.output_bytes, OVERLAP_ITEM_OK, 0};
      items_.host<overlap_batch_item>()[index] = item_of(
          parts.layout, parts.stage,
          {arena_.device<std::byte>(), state_.device<std::byte>(), reports_.device<JobReport>()},
          index);
    }
    VendorCallOrReason vendor =
        make_vendor_call(parts.stage, parts.layout, arena_.device<std::byte>());
    if (!vendor.why_not.empty()) {
      throw std::runtime_error("the library alone: " + vendor.why_not);
    }
    vendor_ = std::move(vendor.call);
    // The copies above went through another stream.
    check(cudaDeviceSynchronize(), "filling the jobs");
  }

  ~CudaWorkload() override { gate_.open(); }

  double kernel_seconds(std::chrono::nanoseconds duration) override {
    const double seconds = mean_seconds(duration, [this] { launch(); });
    check_statuses();
    return seconds;
  }

  double copy_seconds(std::chrono::nanoseconds duration) override {
    auto* const from = arena_.device<std::byte>();
    return mean_seconds(duration, [this, from] {
      check(cudaMemcpyAsync(from + parts_.layout.copy_offset_bytes(), from,
                            parts_.layout.copied_bytes(), cudaMemcpyDeviceToDevice, stream_.get()),
            "a copy on the device");
    });
  }

  std::optional<double> library_seconds(std::chrono::nanoseconds duration) override {
    if (!vendor_) {
      return std::nullopt;
    }
    return mean_seconds(duration, [this] { vendor_->enqueue(stream_.get()); });
  }

  /// @pre nothing has run yet
  void compare_first_batch(HostWorkload& expected, std::uint32_t jobs) {
    launch();
    check(cudaStreamSynchronize(stream_.get()), "the first batch");
    check_statuses();
    expected.run();
    std::vector<std::byte> got;
    for (std::uint32_t index = 0; index < jobs; ++index) {
      got.resize(reports_.host<JobReport>()[index].output_bytes);
      check(cudaMemcpy(got.data(),
                       arena_.device<std::byte>() + parts_.layout.output_offset_bytes(index),
                       got.size(), cudaMemcpyDeviceToHost),
            "a result");
      const std::string difference =
          result_difference(parts_.stage.kernel->name(), got, expected.output(index));
      if (!difference.empty()) {
        throw std::runtime_error("the GPU's result of job " + std::to_string(index) +
                                 " is not the host's: " + difference);
      }
    }
  }

 private:
  void fill() {
    const std::vector<std::byte> pattern = workload_pattern(parts_.data);
    const std::uint64_t arena_bytes = parts_.layout.arena_bytes();
    for (std::uint64_t at = 0; at < arena_bytes; at += pattern.size()) {
      check(cudaMemcpy(arena_.device<std::byte>() + at, pattern.data(),
                       std::min<std::uint64_t>(pattern.size(), arena_bytes - at),
                       cudaMemcpyHostToDevice),
            "filling the jobs");
    }
    check(cudaMemset(state_.device<std::byte>(), 0,
                     std::max<std::uint64_t>(parts_.layout.state_bytes, 1)),
          "clearing the state");
  }

  void launch() {
    overlap_batch batch{};
    batch.struct_bytes = sizeof batch;
    batch.item_stride_bytes = sizeof(overlap_batch_item);
    batch.item_count = parts_.layout.job_count;
    batch.param_count = static_cast<std::uint32_t>(parts_.stage.params.size());
    batch.items = items_.host<overlap_batch_item>();
    batch.device_items = items_.device<overlap_batch_item>();
    batch.params = parts_.stage.params.data();
    batch.max_input_bytes = parts_.layout.input_bytes;
    batch.workspace = workspace_.device<std::byte>();
    batch.workspace_bytes = parts_.layout.workspace_bytes;
    check(static_cast<cudaError_t>(parts_.stage.kernel->launch(batch, stream_.get())), "a launch");
  }

  /// @pre the stream is idle
  void check_statuses() const {
    for (std::uint32_t index = 0; index < parts_.layout.job_count; ++index) {
      const std::uint32_t status = reports_.host<JobReport>()[index].status;
      if (status != OVERLAP_ITEM_OK) {
        throw std::runtime_error("job " + std::to_string(index) + " on the GPU ended with status " +
                                 std::to_string(status));
      }
    }
  }

  template <class Enqueue>
  double queued_seconds(std::uint64_t count, Enqueue& enqueue) {
    throw_if_interrupted();
    gate_.close_in(stream_.get());
    try {
      check(cudaEventRecord(first_.get(), stream_.get()), "an event");
      for (std::uint64_t i = 0; i < count; ++i) {
        enqueue();
      }
      check(cudaEventRecord(last_.get(), stream_.get()), "an event");
    } catch (...) {
      gate_.open();
      throw;
    }
    gate_.open();
    check(cudaStreamSynchronize(stream_.get()), "what was measured");
    float milliseconds = 0;
    check(cudaEventElapsedTime(&milliseconds, first_.get(), last_.get()), "the time");
    return static_cast<double>(milliseconds) * 1e-3;
  }

  template <class Enqueue>
  double mean_seconds(std::chrono::nanoseconds duration, Enqueue enqueue) {
    // Not counted: whatever ran before has left its own bytes in the caches.
    static_cast<void>(queued_seconds(1, enqueue));
    const double wanted = std::chrono::duration<double>(duration).count();
    double seconds = 0;
    std::uint64_t count = 0;
    std::uint64_t next = 1;
    do {
      seconds += queued_seconds(next, enqueue);
      count += next;
      const double each = std::max(seconds / static_cast<double>(count), 1e-7);
      next = static_cast<std::uint64_t>(
          std::clamp((wanted - seconds) / each + 1, 1.0, static_cast<double>(kMostQueued)));
    } while (seconds < wanted);
    return seconds / static_cast<double>(count);
  }

  // The stream is declared behind what its work uses, so that it is idle before that goes.
  WorkloadParts parts_;
  Memory arena_;
  Memory state_;
  Memory workspace_;
  Memory items_;
  Memory reports_;
  std::unique_ptr<VendorCall> vendor_;
  TimedEvent first_;
  TimedEvent last_;
  Gate gate_;
  Stream stream_;
};

}  // namespace

WorkloadOrReason make_cuda_workload(const WorkloadParts& parts, std::uint32_t compared_jobs) {
  const Kernel& kernel = *parts.stage.kernel;
  if (!kernel.has_cuda()) {
    return {nullptr, "it has no CUDA implementation"};
  }
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    return {nullptr, "there is no GPU"};
  }
  if (const auto refusal = kernel.prepare(parts.stage.params, parts.layout.input_bytes, true)) {
    return {nullptr, refusal->text};
  }
  auto workload = std::make_unique<CudaWorkload>(parts);
  if (kernel.has_host()) {
    WorkloadParts compared = parts;
    compared.layout.job_count = std::min(compared_jobs, parts.layout.job_count);
    HostWorkload host(compared);
    workload->compare_first_batch(host, compared.layout.job_count);
  }
  return {std::move(workload), ""};
}

}  // namespace overlap::bench
