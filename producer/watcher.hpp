#pragma once

#include "producer/fork_guard.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
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

  /// Sounds the alarm once at a point of CLOCK_MONOTONIC, or at once if that has passed; the latest
  /// call counts. Any thread.
  void set_alarm(std::uint64_t at_ns) const noexcept;

  /// Readable from `stop` on: for the watcher's own waits.
  [[nodiscard]] int stop_descriptor() const noexcept { return stop_.get(); }
  /// Sleeps, on the watcher's own thread.
  /// @return whether `stop` was called
  [[nodiscard]] bool stopped_within(std::chrono::nanoseconds duration) const noexcept;

 private:
  void run() const;

  PrivateDescriptor stop_;
  PrivateDescriptor timer_;
  Events events_;
  std::thread thread_;
};

}  // namespace overlap
