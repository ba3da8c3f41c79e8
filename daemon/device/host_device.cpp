#include "daemon/device/host_device.hpp"

#include "shared/file_descriptor.hpp"

#include <fcntl.h>
#include <pthread.h>
#include <array>
#include <csignal>
#include <cstdlib>
#include <cstring>

namespace overlap {
namespace {

constexpr std::uint64_t kAlignmentBytes = 4096;
/// More than all lanes' batches and their stages together.
constexpr std::uint64_t kTaskCapacity = 4096;

std::byte* allocate_aligned(std::uint64_t bytes) noexcept {
  const std::uint64_t rounded = (bytes + kAlignmentBytes - 1) / kAlignmentBytes * kAlignmentBytes;
  return static_cast<std::byte*>(std::aligned_alloc(kAlignmentBytes, rounded));
}

}  // namespace

/// One thread and the ring that feeds it.
class HostDevice::Worker {
 public:
  struct Task {
    enum class Kind : std::uint8_t { kernel, copy, clear, wait, stop } kind = Kind::stop;
    const Kernel* kernel = nullptr;
    overlap_batch batch{};
    CopyRange range{};
    const Worker* awaited = nullptr;
    std::uint64_t awaited_task = 0;
  };

  Worker() : thread_([this] { run(); }) {}
  ~Worker() { stop(); }
  Worker(const Worker&) = delete;
  Worker& operator=(const Worker&) = delete;

  /// Ends the thread after the tasks before. The second call does nothing.
  void stop() noexcept {
    if (thread_.joinable()) {
      push(Task{});
      thread_.join();
    }
  }

  /// Engine's thread. @return the task's number
  std::uint64_t push(const Task& task) noexcept {
    const std::uint64_t number = pushed_.load(std::memory_order_relaxed) + 1;
    // Acquire 'task done': its place in the ring is free again.
    while (number - done_.load(std::memory_order_acquire) > kTaskCapacity) {
      std::this_thread::yield();
    }
    tasks_[number % kTaskCapacity] = task;
    // Release 'task pushed'.
    pushed_.store(number, std::memory_order_release);
    pushed_.notify_one();
    return number;
  }

  /// Any thread. Acquire 'task done': what the task wrote is visible once this says true.
  [[nodiscard]] bool is_done(std::uint64_t number) const noexcept {
    return done_.load(std::memory_order_acquire) >= number;
  }

  void wait_for(std::uint64_t number) const noexcept {
    std::uint64_t seen = done_.load(std::memory_order_acquire);
    while (seen < number) {
      done_.wait(seen, std::memory_order_acquire);
      seen = done_.load(std::memory_order_acquire);
    }
  }

  /// Engine's thread. Rings a duplicate: the caller may close its own before the worker gets there.
  void ring_when_done(std::uint64_t number, int eventfd) noexcept {
    {
      const std::lock_guard lock(ring_mutex_);
      ring_fd_ = FileDescriptor(::fcntl(eventfd, F_DUPFD_CLOEXEC, 0));
    }
    // 'engine asleep': store the number, then load `done_`; the worker stores `done_`, then loads the
    // number. Both seq_cst, so one of the two sees the other.
    // The earliest of what is asked for: after any ring the engine asks anew.
    std::uint64_t earlier = ring_at_.load(std::memory_order_relaxed);
    while ((earlier == 0 || number < earlier) &&
           !ring_at_.compare_exchange_weak(earlier, number, std::memory_order_seq_cst)) {
    }
    if (done_.load(std::memory_order_seq_cst) >= number) {
      ring(eventfd);
    }
  }

 private:
  void run() noexcept {
    // Signals belong to the daemon's main thread.
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, nullptr);
    for (std::uint64_t number = 1;; ++number) {
      std::uint64_t pushed = pushed_.load(std::memory_order_acquire);
      while (pushed < number) {
        pushed_.wait(pushed, std::memory_order_acquire);
        pushed = pushed_.load(std::memory_order_acquire);
      }
      const Task& task = tasks_[number % kTaskCapacity];
      const bool stop = task.kind == Task::Kind::stop;
      switch (task.kind) {
        case Task::Kind::kernel:
          task.kernel->run(task.batch);
          break;
        case Task::Kind::copy:
          copy_now(task.range);
          break;
        case Task::Kind::clear:
          std::memset(task.range.destination, 0, task.range.bytes);
          break;
        case Task::Kind::wait:
          task.awaited->wait_for(task.awaited_task);
          break;
        case Task::Kind::stop:
          break;
      }
      done_.store(number, std::memory_order_seq_cst);
      done_.notify_all();
      std::uint64_t ring_at = ring_at_.load(std::memory_order_seq_cst);
      // Exchanged, not stored: the engine may have asked for a later task in the meantime.
      if (ring_at != 0 && number >= ring_at &&
          ring_at_.compare_exchange_strong(ring_at, 0, std::memory_order_seq_cst)) {
        const std::lock_guard lock(ring_mutex_);
        ring(ring_fd_.get());
      }
      if (stop) {
        return;
      }
    }
  }

  std::array<Task, kTaskCapacity> tasks_;
  alignas(128) std::atomic<std::uint64_t> pushed_{0};
  alignas(128) std::atomic<std::uint64_t> done_{0};
  alignas(128) std::atomic<std::uint64_t> ring_at_{0};
  /// Taken only around a sleep of the engine.
  std::mutex ring_mutex_;
  FileDescriptor ring_fd_;
  std::thread thread_;
};

HostDevice::HostDevice(std::uint32_t worker_count) {
  for (std::uint32_t i = 0; i < worker_count; ++i) {
    workers_.push_back(std::make_unique<Worker>());
  }
  properties_.backend = "host";
  properties_.name = worker_count == 0 ? std::string("CPU, on the engine's thread")
                                       : "CPU, " + std::to_string(worker_count) + " worker threads";
  properties_.works_in_place = true;
  properties_.copy_engine_count = 0;
  // One batch at a time on the engine's own thread: a second one would only delay the first.
  properties_.default_lane_count = worker_count == 0 ? 1 : worker_count;
  properties_.default_depth = worker_count == 0 ? 1 : 2;
}

HostDevice::~HostDevice() {
  // All threads end before the first worker goes: they wait for each other's tasks.
  for (const auto& worker : workers_) {
    worker->stop();
  }
}

std::string HostDevice::describe(int code) const {
  return code == 0 ? "no error" : std::strerror(code);
}

DeviceStatus HostDevice::pin(std::span<std::byte> /*range*/) { return {}; }
DeviceStatus HostDevice::unpin(std::byte* /*start*/) { return {}; }

std::byte* HostDevice::allocate(std::uint64_t bytes) { return allocate_aligned(bytes); }
void HostDevice::release(std::byte* memory) noexcept { std::free(memory); }
std::byte* HostDevice::allocate_host_table(std::uint64_t bytes) { return allocate_aligned(bytes); }
void HostDevice::release_host_table(std::byte* memory) noexcept { std::free(memory); }

StreamId HostDevice::create_stream(StreamPriority /*priority*/) {
  Stream stream;
  if (!workers_.empty()) {
    stream.worker = workers_[streams_.size() % workers_.size()].get();
  }
  streams_.push_back(stream);
  return StreamId{static_cast<std::uint32_t>(streams_.size() - 1)};
}

EventId HostDevice::create_event() {
  events_.emplace_back();
  return EventId{static_cast<std::uint32_t>(events_.size() - 1)};
}

DeviceStatus HostDevice::run_copies(StreamId stream, std::span<const CopyRange> ranges) {
  Stream& target = streams_[static_cast<std::size_t>(stream)];
  for (const CopyRange& range : ranges) {
    if (target.worker == nullptr) {
      copy_now(range);
    } else {
      Worker::Task task;
      task.kind = Worker::Task::Kind::copy;
      task.range = range;
      target.last_task = target.worker->push(task);
    }
  }
  return {};
}

DeviceStatus HostDevice::copy_in(StreamId stream, std::span<const CopyRange> ranges) {
  return run_copies(stream, ranges);
}

DeviceStatus HostDevice::copy_out(StreamId stream, std::span<const CopyRange> ranges) {
  return run_copies(stream, ranges);
}

DeviceStatus HostDevice::clear(StreamId stream, std::span<std::byte> memory) {
  Stream& target = streams_[static_cast<std::size_t>(stream)];
  if (target.worker == nullptr) {
    std::memset(memory.data(), 0, memory.size());
    return {};
  }
  Worker::Task task;
  task.kind = Worker::Task::Kind::clear;
  task.range = {memory.data(), nullptr, memory.size()};
  target.last_task = target.worker->push(task);
  return {};
}

DeviceStatus HostDevice::launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) {
  Stream& target = streams_[static_cast<std::size_t>(stream)];
  if (target.worker == nullptr) {
    kernel.run(batch);
    return {};
  }
  Worker::Task task;
  task.kind = Worker::Task::Kind::kernel;
  task.kernel = &kernel;
  task.batch = batch;
  target.last_task = target.worker->push(task);
  return {};
}

DeviceStatus HostDevice::record(EventId event, StreamId stream) {
  events_[static_cast<std::size_t>(event)] = streams_[static_cast<std::size_t>(stream)];
  return {};
}

DeviceStatus HostDevice::wait(StreamId stream, EventId event) {
  Stream& target = streams_[static_cast<std::size_t>(stream)];
  const Stream& awaited = events_[static_cast<std::size_t>(event)];
  // The same worker runs its tasks in the order of issue: it has nothing to wait for.
  if (awaited.worker != nullptr && awaited.worker != target.worker) {
    Worker::Task task;
    task.kind = Worker::Task::Kind::wait;
    task.awaited = awaited.worker;
    task.awaited_task = awaited.last_task;
    target.last_task = target.worker->push(task);
  }
  return {};
}

EventQuery HostDevice::query(EventId event) {
  const Stream& asked = events_[static_cast<std::size_t>(event)];
  const bool over = asked.worker == nullptr || asked.worker->is_done(asked.last_task);
  return {over ? EventState::ready : EventState::pending, 0};
}

void HostDevice::ring_when_over(EventId event, int eventfd) {
  const Stream& asked = events_[static_cast<std::size_t>(event)];
  if (asked.worker == nullptr) {
    ring(eventfd);
  } else {
    asked.worker->ring_when_done(asked.last_task, eventfd);
  }
}

}  // namespace overlap
