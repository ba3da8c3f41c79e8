#pragma once

#include "daemon/engine/engine.hpp"
#include "shared/file_descriptor.hpp"

#include <atomic>
#include <chrono>
#include <cstdint>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <thread>
#include <variant>
#include <vector>

namespace overlap {

struct IdleSettings {
  /// How long the engine goes on polling when there is nothing to do; empty: for as long as channels
  /// are polled or work is in flight.
  std::optional<std::chrono::nanoseconds> spin{50'000};
  /// How long a channel is polled after its last submission.
  std::chrono::nanoseconds park_after{100'000'000};
};

/// A thread around an engine: mailbox, idle strategy, sleep. The data path itself takes no lock; the
/// mailbox's is touched only when there is mail.
class EngineThread {
 public:
  /// Starts the thread and waits until the engine stands.
  /// @param load as the engine takes it
  /// @pre device, listener and load outlive it
  /// @throws what the engine's constructor throws
  EngineThread(Device& device, const EngineSettings& settings, const IdleSettings& idle,
               EngineListener& listener, EngineLoad* load = nullptr);
  /// Stops at once: jobs on the device end, nothing else does.
  ~EngineThread();
  EngineThread(const EngineThread&) = delete;
  EngineThread& operator=(const EngineThread&) = delete;

  // Any thread.
  void add(std::unique_ptr<Channel> channel);
  void remove(ChannelId channel);
  void unpark(ChannelId channel);
  void drain();
  /// To be called before a doorbell's descriptor is closed: producers share its open file, so closing
  /// alone would leave it watched.
  void forget_doorbell(int doorbell) noexcept;

  [[nodiscard]] const EngineCounters& counters() const noexcept { return engine_->counters(); }
  /// Times that the engine slept.
  [[nodiscard]] std::uint64_t sleep_count() const noexcept {
    return sleep_count_.load(std::memory_order_relaxed);
  }

 private:
  struct Add {
    std::unique_ptr<Channel> channel;
  };
  struct Remove {
    ChannelId channel;
  };
  struct Unpark {
    ChannelId channel;
  };
  struct Drain {};
  struct Stop {};
  using Mail = std::variant<Add, Remove, Unpark, Drain, Stop>;

  /// Keeps the engine's epoll set in step with which channels are polled.
  class DoorbellKeeper;

  void run(Device& device, const EngineSettings& settings, EngineLoad* load,
           std::promise<void> started);
  void loop(Device& device);
  void post(Mail mail);
  void read_mail(std::uint64_t now_ns);
  /// Whether to look for work again at once after so long without any.
  [[nodiscard]] bool goes_on_polling(std::uint64_t idle_ns) const noexcept;
  void sleep(Device& device, std::uint64_t now_ns);
  /// Sees to it that a sleep ends when channels are to be looked at for parking.
  void arm_park_timer(std::uint64_t now_ns) noexcept;

  IdleSettings idle_;
  FileDescriptor epoll_;
  FileDescriptor wake_;
  FileDescriptor park_timer_;
  std::unique_ptr<DoorbellKeeper> keeper_;
  std::unique_ptr<Engine> engine_;

  std::mutex mailbox_mutex_;
  std::vector<Mail> mailbox_;
  std::atomic<bool> has_mail_{false};
  std::atomic<bool> asleep_{false};
  std::atomic<std::uint64_t> sleep_count_{0};
  std::uint64_t next_park_ns_ = 0;
  /// When the timer rings; in the past if it is not set.
  std::uint64_t park_timer_ns_ = 0;
  bool stopping_ = false;
  // Last: it uses all of the above.
  std::thread thread_;
};

}  // namespace overlap
