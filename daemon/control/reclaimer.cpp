#include "daemon/control/reclaimer.hpp"

#include "daemon/control/engine_quiet.hpp"
#include "shared/monotonic_clock.hpp"

#include <pthread.h>
#include <chrono>
#include <csignal>

namespace overlap {
namespace {

/// How often to look whether a long batch is over: nobody tells.
constexpr std::chrono::milliseconds kLookAgain{1};
/// Stores that may wait for a better moment: each is a mapping, of which a process has so many.
constexpr std::size_t kMostWaiting = 256;

}  // namespace

Reclaimer::Reclaimer(Device& device, const StoreSettings& settings, const EngineLoad& load,
                     std::function<void(StoreGivenBack)> report)
    : device_(device),
      settings_(settings),
      load_(load),
      report_(std::move(report)),
      thread_([this] { run(); }) {}

Reclaimer::~Reclaimer() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    finishing_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void Reclaimer::give_back(ChannelId channel, ChannelStore store) {
  const std::uint64_t due_ns =
      monotonic_now_ns() + static_cast<std::uint64_t>(settings_.reclaim_after.count());
  {
    const std::lock_guard lock(mutex_);
    tasks_.push_back({channel, std::move(store), due_ns});
  }
  changed_.notify_all();
}

void Reclaimer::hurry() {
  {
    const std::lock_guard lock(mutex_);
    hurried_ = !tasks_.empty();
  }
  changed_.notify_all();
}

void Reclaimer::finish() {
  {
    const std::lock_guard lock(mutex_);
    finishing_ = true;
  }
  changed_.notify_all();
}

void Reclaimer::run() {
  // Signals belong to the daemon's main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "reclaimer");
  while (true) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return stopping_ || !tasks_.empty(); });
    if (tasks_.empty()) {
      return;
    }
    // In the queue until it is back: `hurry` means it too. Nobody else takes from the front.
    Task& task = tasks_.front();
    lock.unlock();
    bool first = true;
    const auto before_each = [&] {
      if (!first) {
        pause();
      }
      first = false;
      await_moment(task);
    };
    StoreGivenBack report{task.channel,
                          overlap::give_back(std::move(task.store), device_, before_each)};
    lock.lock();
    tasks_.pop_front();
    hurried_ = hurried_ && !tasks_.empty();
    lock.unlock();
    report_(std::move(report));
  }
}

bool Reclaimer::may_wait(const Task& task) const {
  return !hurried_ && !finishing_ && tasks_.size() <= kMostWaiting &&
         monotonic_now_ns() < task.due_ns;
}

void Reclaimer::await_moment(const Task& task) {
  std::unique_lock lock(mutex_);
  while (may_wait(task) && runs_long_batch(load_, monotonic_now_ns())) {
    postponed_count_.fetch_add(1, std::memory_order_relaxed);
    changed_.wait_for(lock, kLookAgain);
  }
}

void Reclaimer::pause() {
  if (!is_busy(load_, monotonic_now_ns())) {
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, settings_.pin_gap, [this] { return finishing_; });
}

}  // namespace overlap
