#include "daemon/control/pin_worker.hpp"

#include "daemon/control/engine_quiet.hpp"
#include "daemon/control/numa_placement.hpp"
#include "shared/monotonic_clock.hpp"

#include <pthread.h>
#include <algorithm>
#include <csignal>

namespace overlap {
namespace {

/// Reports of progress on the way of a channel, not one a chunk: there may be very many of those.
constexpr std::uint64_t kProgressSteps = 8;
constexpr unsigned kMostTouchThreads = 4;

}  // namespace

PinWorker::PinWorker(Device& device, const StoreSettings& settings, const EngineLoad& load,
                     std::function<void(PinReport)> report)
    : device_(device),
      settings_(settings),
      load_(load),
      report_(std::move(report)),
      thread_([this] { run(); }) {}

PinWorker::~PinWorker() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void PinWorker::allocate(ChannelId channel, const ChannelGeometry& geometry) {
  post({channel, Allocate{geometry}});
}

void PinWorker::prepare(ChannelId channel, FileDescriptor memory, const ChannelGeometry& geometry,
                        std::uint64_t features) {
  post({channel, Prepare{std::move(memory), geometry, features}});
}

void PinWorker::cancel(ChannelId channel) {
  {
    const std::lock_guard lock(mutex_);
    if (current_ == channel) {
      current_wanted_ = false;
    }
    for (Task& task : tasks_) {
      if (task.channel == channel) {
        task.wanted = false;
      }
    }
  }
  changed_.notify_all();
}

void PinWorker::post(Task task) {
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back(std::move(task));
  }
  changed_.notify_all();
}

void PinWorker::run() {
  // Signals belong to the daemon's main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "pin worker");
  // Of this thread alone: channel memory is allocated here and nowhere else.
  prefer_numa_node(device_.properties().numa_node);
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    Task task = std::move(tasks_.front());
    tasks_.pop_front();
    current_ = task.channel;
    current_wanted_ = task.wanted;
    lock.unlock();
    PinReport report = perform(task);
    lock.lock();
    current_.reset();
    lock.unlock();
    report_(std::move(report));
  }
}

PinReport PinWorker::perform(Task& task) {
  if (auto* prepare_work = std::get_if<Prepare>(&task.work)) {
    return prepare(task.channel, *prepare_work);
  }
  if (!is_wanted()) {
    return StoreAllocated{task.channel, StoreRefusal{false, "nobody waits for it any more"}};
  }
  const std::uint64_t started_ns = monotonic_now_ns();
  auto outcome = allocate_store(std::get<Allocate>(task.work).geometry);
  return StoreAllocated{task.channel, std::move(outcome), monotonic_now_ns() - started_ns};
}

PinReport PinWorker::prepare(ChannelId channel, Prepare& work) {
  PrepareSteps steps;
  // The cores are for the jobs where there are any.
  steps.touch_threads =
      is_busy(load_, monotonic_now_ns())
          ? 1
          : std::clamp(std::thread::hardware_concurrency(), 1U, kMostTouchThreads);
  std::uint64_t reported = 0;
  steps.is_wanted = [this] { return is_wanted(); };
  steps.between_pins = [&](std::uint64_t pinned_bytes) {
    const std::uint64_t step = pinned_bytes / (work.geometry.total_bytes / kProgressSteps + 1);
    if (step != reported) {
      reported = step;
      report_(StoreProgress{channel, pinned_bytes});
    }
    pause();
  };
  StorePrepared report{channel, StoreRefusal{}, {}, {}};
  report.outcome = prepare_store(std::move(work.memory), work.geometry, work.features, device_,
                                 settings_, steps, report.times, report.warning);
  return report;
}

bool PinWorker::is_wanted() {
  const std::lock_guard lock(mutex_);
  return current_wanted_;
}

void PinWorker::pause() {
  if (!is_busy(load_, monotonic_now_ns())) {
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, settings_.pin_gap, [this] { return stopping_ || !current_wanted_; });
}

}  // namespace overlap
