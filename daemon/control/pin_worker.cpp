#include "daemon/control/pin_worker.hpp"

#include "daemon/control/numa_placement.hpp"

#include <pthread.h>
#include <csignal>

namespace overlap {

PinWorker::PinWorker(Device& device, const StoreSettings& settings,
                     std::function<void(PinReport)> report)
    : device_(device),
      settings_(settings),
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
  post(Allocate{channel, geometry});
}

void PinWorker::prepare(ChannelId channel, FileDescriptor memory, const ChannelGeometry& geometry,
                        std::uint64_t features) {
  post(Prepare{channel, std::move(memory), geometry, features});
}

void PinWorker::give_back(ChannelId channel, ChannelStore store) {
  post(GiveBack{channel, std::move(store)});
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
    lock.unlock();
    perform(task);
  }
}

void PinWorker::perform(Task& task) {
  const Pause pause = [this](std::chrono::nanoseconds gap) { this->pause(gap); };
  if (const auto* allocate = std::get_if<Allocate>(&task)) {
    report_(StoreAllocated{allocate->channel, allocate_store(allocate->geometry)});
  } else if (auto* prepare = std::get_if<Prepare>(&task)) {
    std::string warning;
    auto outcome = prepare_store(std::move(prepare->memory), prepare->geometry, prepare->features,
                                 device_, settings_, pause, warning);
    report_(StorePrepared{prepare->channel, std::move(outcome), std::move(warning)});
  } else {
    auto& back = std::get<GiveBack>(task);
    std::string warning =
        overlap::give_back(std::move(back.store), device_, settings_.pin_gap, pause);
    report_(StoreGivenBack{back.channel, std::move(warning)});
  }
}

void PinWorker::pause(std::chrono::nanoseconds gap) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, gap, [this] { return stopping_; });
}

}  // namespace overlap
