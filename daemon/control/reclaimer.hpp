#pragma once

#include "daemon/control/pin_worker.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>

namespace overlap {

/// The thread that unregisters, unmaps and frees what channels leave behind. Unregistering waits for
/// every running kernel of the process, so it has a thread to itself: attaches do not queue behind
/// it. It is done lazily, in chunks with gaps, while no long batch runs.
class Reclaimer {
 public:
  /// @param load what says whether a long batch runs
  /// @param report called on the reclaimer's thread; must not block
  /// @pre device and load outlive it
  Reclaimer(Device& device, const StoreSettings& settings, const EngineLoad& load,
            std::function<void(StoreGivenBack)> report);
  /// Gives everything back, without gaps and without waiting for a better moment.
  ~Reclaimer();
  Reclaimer(const Reclaimer&) = delete;
  Reclaimer& operator=(const Reclaimer&) = delete;

  // Any thread.

  /// @pre nothing on the device uses the store's memory
  void give_back(ChannelId channel, ChannelStore store);
  /// Somebody needs the room: what is here by now waits for no better moment.
  void hurry();
  /// From now on nothing waits for a better moment, and there are no gaps.
  void finish();

  /// How often a long batch was found in the way.
  [[nodiscard]] std::uint64_t postponed_count() const noexcept {
    return postponed_count_.load(std::memory_order_relaxed);
  }

 private:
  struct Task {
    ChannelId channel;
    ChannelStore store;
    /// From then on it waits for no better moment.
    std::uint64_t due_ns;
  };

  void run();
  [[nodiscard]] bool may_wait(const Task& task) const;
  void await_moment(const Task& task);
  void pause();

  Device& device_;
  StoreSettings settings_;
  const EngineLoad& load_;
  std::function<void(StoreGivenBack)> report_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Task> tasks_;
  /// Until nothing is left.
  bool hurried_ = false;
  bool finishing_ = false;
  bool stopping_ = false;
  std::atomic<std::uint64_t> postponed_count_{0};
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace overlap
