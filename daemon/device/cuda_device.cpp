#include "daemon/device/cuda_device.hpp"

#include "daemon/device/cuda_check.hpp"
#include "daemon/device/cuda_errors.hpp"
#include "daemon/device/cuda_numa_node.hpp"
#include "shared/monotonic_clock.hpp"

#include <cuda_runtime_api.h>
#include <algorithm>
#include <array>

namespace overlap {
namespace {

int attribute(cudaDeviceAttr which, int index) {
  int value = 0;
  OVERLAP_CUDA_CHECK(cudaDeviceGetAttribute(&value, which, index),
                     "attribute " + std::to_string(which) + ", device " + std::to_string(index));
  return value;
}

/// Makes the device current and refuses one on which a slot has two addresses.
int opened(int index) {
  throw_unless_success(make_current(index), "cudaSetDevice(" + std::to_string(index) + ")");
  if (attribute(cudaDevAttrUnifiedAddressing, index) == 0 ||
      attribute(cudaDevAttrCanUseHostPointerForRegisteredMem, index) == 0) {
    throw CudaError(cudaErrorNotSupported,
                    "device " + std::to_string(index) +
                        " has other addresses for pinned memory than the host: " +
                        cuda_error_text(cudaErrorNotSupported));
  }
  return index;
}

DeviceProperties read_properties(int index) {
  cudaDeviceProp found{};
  OVERLAP_CUDA_CHECK(cudaGetDeviceProperties(&found, index), "device " + std::to_string(index));
  std::array<char, 32> bus_id{};
  OVERLAP_CUDA_CHECK(cudaDeviceGetPCIBusId(bus_id.data(), static_cast<int>(bus_id.size()), index),
                     "device " + std::to_string(index));
  DeviceProperties properties;
  properties.backend = "cuda";
  properties.name = found.name;
  properties.copy_engine_count = static_cast<std::uint32_t>(std::max(found.asyncEngineCount, 1));
  // Opening refuses a device that cannot.
  properties.kernels_reach_pinned = true;
  // Measured best on an H200 for batches of 4 to 16 MiB; four leave the link idle between batches.
  properties.default_lane_count = 8;
  properties.numa_node = read_numa_node(bus_id.data());
  return properties;
}

/// As the runtime counts, from `greatest`, a negative number, to `least`.
int runtime_priority(StreamPriority priority) {
  int least = 0;
  int greatest = 0;
  OVERLAP_CUDA_CHECK(cudaDeviceGetStreamPriorityRange(&least, &greatest));
  switch (priority) {
    case StreamPriority::high:
      return greatest;
    case StreamPriority::low:
      return least;
    case StreamPriority::normal:
      break;
  }
  return (least + greatest) / 2;
}

CudaMemoryPool pool_if_supported(int index) {
  return attribute(cudaDevAttrMemoryPoolsSupported, index) != 0 ? CudaMemoryPool(index)
                                                                : CudaMemoryPool();
}

/// How long a word alone is asked before its event is: an error is seen that much later at most.
constexpr std::uint64_t kAskEventAfterNs = 20'000;

}  // namespace

CudaDevice::CudaDevice(int index)
    : index_(opened(index)),
      properties_(read_properties(index)),
      pool_(pool_if_supported(index)),
      end_words_(index) {}

CudaDevice::~CudaDevice() {
  // The thread that closes need not be the one that opened.
  (void)make_current(index_);
}

std::string CudaDevice::describe(int code) const { return cuda_error_text(code); }

DeviceStatus CudaDevice::settle(cudaError_t code) noexcept {
  if (code == cudaSuccess) {
    return {};
  }
  (void)cudaGetLastError();
  int lost_code = lost_code_.load(std::memory_order_relaxed);
  if (lost_code == 0 && ends_the_context(code)) {
    lost_code = code;
  }
  if (lost_code == 0) {
    // A lost context answers every call with the error that lost it, also this one.
    const cudaError_t echo = cudaStreamQuery(set_up_.get());
    (void)cudaGetLastError();
    lost_code = ends_the_context(echo) ? echo : 0;
  }
  if (lost_code == 0) {
    return {DeviceOutcome::failed, code};
  }
  lost_code_.store(lost_code, std::memory_order_relaxed);
  return {DeviceOutcome::lost, lost_code};
}

int CudaDevice::lose(cudaError_t code) noexcept {
  // With the code that lost it first, if it was lost before.
  const int lost_code = settle(code).code;
  lost_code_.store(lost_code, std::memory_order_relaxed);
  return lost_code;
}

DeviceStatus CudaDevice::pin(std::span<std::byte> range) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  // Held over the call: of two threads with the same range, the second must see the first's entry.
  const std::lock_guard lock(pinned_mutex_);
  const cudaError_t code = cudaHostRegister(range.data(), range.size(),
                                            cudaHostRegisterPortable | cudaHostRegisterMapped);
  if (code == cudaErrorHostMemoryAlreadyRegistered) {
    const auto known = pinned_.find(range.data());
    if (known != pinned_.end() && known->second == range.size()) {
      (void)cudaGetLastError();
      return {};
    }
  }
  if (code == cudaSuccess) {
    pinned_.insert_or_assign(range.data(), range.size());
  }
  return settle(code);
}

DeviceStatus CudaDevice::unpin(std::byte* start) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  {
    const std::lock_guard lock(pinned_mutex_);
    pinned_.erase(start);
  }
  // Outside the lock: it waits for every running kernel, and a pin elsewhere need not.
  return settle(cudaHostUnregister(start));
}

std::optional<Refusal> CudaDevice::prepare(const Kernel& kernel, ParameterView params,
                                           std::uint64_t input_bytes) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return Refusal{"the device cannot be used (" + describe(code) + ")"};
  }
  return kernel.prepare(params, input_bytes, true);
}

std::byte* CudaDevice::allocate(std::uint64_t bytes) {
  if (!settle(make_current(index_)).ok()) {
    return nullptr;
  }
  void* memory = nullptr;
  if (!pool_) {
    return settle(cudaMalloc(&memory, bytes)).ok() ? static_cast<std::byte*>(memory) : nullptr;
  }
  if (!settle(cudaMallocFromPoolAsync(&memory, bytes, pool_.get(), set_up_.get())).ok() ||
      !settle(cudaStreamSynchronize(set_up_.get())).ok()) {
    return nullptr;
  }
  return static_cast<std::byte*>(memory);
}

void CudaDevice::release(std::byte* memory) noexcept {
  (void)settle(make_current(index_));
  (void)settle(pool_ ? cudaFreeAsync(memory, set_up_.get()) : cudaFree(memory));
}

std::byte* CudaDevice::allocate_host_table(std::uint64_t bytes) {
  if (!settle(make_current(index_)).ok()) {
    return nullptr;
  }
  void* memory = nullptr;
  const cudaError_t code =
      cudaHostAlloc(&memory, bytes, cudaHostAllocPortable | cudaHostAllocMapped);
  return settle(code).ok() ? static_cast<std::byte*>(memory) : nullptr;
}

void CudaDevice::release_host_table(std::byte* memory) noexcept {
  (void)settle(make_current(index_));
  (void)settle(cudaFreeHost(memory));
}

StreamId CudaDevice::create_stream(StreamPriority priority) {
  throw_unless_success(make_current(index_), "cudaSetDevice(" + std::to_string(index_) + ")");
  streams_.emplace_back(runtime_priority(priority));
  return StreamId{static_cast<std::uint32_t>(streams_.size() - 1)};
}

EventId CudaDevice::create_event() {
  throw_unless_success(make_current(index_), "cudaSetDevice(" + std::to_string(index_) + ")");
  events_.emplace_back();
  return EventId{static_cast<std::uint32_t>(events_.size() - 1)};
}

cudaStream_t CudaDevice::handle(StreamId stream) const noexcept {
  return streams_[static_cast<std::size_t>(stream)].get();
}

CudaDevice::Event& CudaDevice::at(EventId event) noexcept {
  return events_[static_cast<std::size_t>(event)];
}

DeviceStatus CudaDevice::copy_in(StreamId stream, std::span<const CopyRange> ranges) {
  return copy(stream, ranges, cudaMemcpyHostToDevice);
}

DeviceStatus CudaDevice::copy_out(StreamId stream, std::span<const CopyRange> ranges) {
  return copy(stream, ranges, cudaMemcpyDeviceToHost);
}

DeviceStatus CudaDevice::copy(StreamId stream, std::span<const CopyRange> ranges,
                              cudaMemcpyKind kind) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  for (const CopyRange& range : ranges) {
    if (range.bytes == 0) {
      continue;
    }
    const cudaError_t code =
        range.rows == 1
            ? cudaMemcpyAsync(range.destination, range.source, range.bytes, kind, handle(stream))
            : cudaMemcpy2DAsync(range.destination, range.destination_pitch_bytes, range.source,
                                range.source_pitch_bytes, range.bytes, range.rows, kind,
                                handle(stream));
    if (code != cudaSuccess) {
      return settle(code);
    }
  }
  return {};
}

DeviceStatus CudaDevice::clear(StreamId stream, std::span<std::byte> memory) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  return settle(cudaMemsetAsync(memory.data(), 0, memory.size(), handle(stream)));
}

DeviceStatus CudaDevice::launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  return settle(static_cast<cudaError_t>(kernel.launch(batch, handle(stream))));
}

DeviceStatus CudaDevice::record(EventId event, StreamId stream) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  at(event).recording = ++recording_count_;
  at(event).writes_word = false;
  return settle(cudaEventRecord(at(event).handle.get(), handle(stream)));
}

DeviceStatus CudaDevice::record_end(EventId event, StreamId stream) {
  Event& ended = at(event);
  if (ended.word == nullptr) {
    ended.word = end_words_.create();
  }
  // The word first: it is what the host waits for, and recording takes the stream a moment.
  const std::uint64_t recording = recording_count_ + 1;
  const bool writes_word = ended.word != nullptr && make_current(index_) == cudaSuccess &&
                           end_words_.write(handle(stream), ended.word,
                                            static_cast<std::uint32_t>(recording)) == cudaSuccess;
  const DeviceStatus status = record(event, stream);
  ended.writes_word = writes_word && status.ok();
  ended.asked_ns = monotonic_now_ns();
  return status;
}

DeviceStatus CudaDevice::wait(StreamId stream, EventId event) {
  if (const cudaError_t code = make_current(index_); code != cudaSuccess) {
    return settle(code);
  }
  return settle(cudaStreamWaitEvent(handle(stream), at(event).handle.get(), 0));
}

EventQuery CudaDevice::query(EventId event) {
  Event& asked = at(event);
  if (asked.writes_word) {
    if (CudaEndWords::holds(asked.word, static_cast<std::uint32_t>(asked.recording))) {
      return {EventState::ready, 0};
    }
    // A stream that has failed never gets to its word: the event tells, once in a while.
    const std::uint64_t now_ns = monotonic_now_ns();
    if (now_ns - asked.asked_ns < kAskEventAfterNs) {
      return {EventState::pending, 0};
    }
    asked.asked_ns = now_ns;
  }
  cudaError_t code = make_current(index_);
  if (code == cudaSuccess) {
    code = cudaEventQuery(at(event).handle.get());
  }
  if (code == cudaSuccess) {
    return {EventState::ready, 0};
  }
  if (code == cudaErrorNotReady) {
    // Not an error, yet the runtime may remember it as the last one.
    (void)cudaGetLastError();
    return {EventState::pending, 0};
  }
  return {EventState::lost, lose(code)};
}

void CudaDevice::ring_when_over(EventId event, int eventfd) {
  if (settle(make_current(index_)).ok()) {
    ring_.arm(at(event).handle, at(event).recording, eventfd);
  }
}

}  // namespace overlap
