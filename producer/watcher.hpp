#pragma once

#include "producer/fork_guard.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <mutex>
#include <thread>

namespace overlap {

/// The library's one thread: tells of the control socket and of an alarm. It handles no signals.
class Watcher {
 public:
  /// Called on the watcher's thread.
  struct Events {
    /// The socket to watch; -1 for none. Asked before every sleep.
    std::function<int()> socket;
    std::function<void()> on_socket;
    std::function<void()> on_alarm;
  };

  /// @throws std::system_error
  Watcher();
  Watcher(const Watcher&) = delete;
  Watcher& operator=(const Watcher&) = delete;
  ~Watcher();

  /// @throws std::system_error if there can be no thread
  void start(Events events);
  /// Ends the thread. Idempotent; restricted: not from the watcher's own thread.
  void stop() noexcept;

  /// Sounds the alarm at a point of CLOCK_MONOTONIC, or at once if that has passed. One alarm is
  /// pending at a time, the earliest: after it has sounded, whoever still wants a later one sets it
  /// again. No system call if an earlier one is pending. Any thread.
  void set_alarm(std::uint64_t at_ns) noexcept;

  /// Readable from `stop` on: for the watcher's own waits.
  [[nodiscard]] int stop_descriptor() const noexcept { return stop_.get(); }
  /// Sleeps, on the watcher's own thread.
  /// @return whether `stop` was called
  [[nodiscard]] bool stopped_within(std::chrono::nanoseconds duration) const noexcept;

 private:
  static constexpr std::uint64_t kNoAlarm = UINT64_MAX;

  void run();
  [[nodiscard]] bool take_alarm() noexcept;

  PrivateDescriptor stop_;
  PrivateDescriptor timer_;
  /// Keeps the timer and `pending_alarm_ns_` the same.
  std::mutex alarm_mutex_;
  std::uint64_t pending_alarm_ns_ = kNoAlarm;
  Events events_;
  std::thread thread_;
};

}  // namespace overlap
