#include "producer/watcher.hpp"

#include <poll.h>
#include <pthread.h>
#include <sys/timerfd.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <system_error>
#include <utility>

namespace overlap {
namespace {

FileDescriptor make_timer() {
  FileDescriptor timer(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK));
  if (!timer) {
    throw std::system_error(errno, std::generic_category(), "timerfd_create");
  }
  return timer;
}

/// Blocks every signal for as long as it lives: a thread started meanwhile inherits that.
class BlockedSignals {
 public:
  BlockedSignals() noexcept {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_{};
};

}  // namespace

Watcher::Watcher() {
  const NoForkSection section;
  stop_ = PrivateDescriptor(make_eventfd(), section);
  timer_ = PrivateDescriptor(make_timer(), section);
}

Watcher::~Watcher() { stop(); }

void Watcher::start(Events events) {
  events_ = std::move(events);
  const BlockedSignals blocked;
  thread_ = std::thread([this] { run(); });
}

void Watcher::stop() noexcept {
  if (thread_.joinable()) {
    ring(stop_.get());
    thread_.join();
  }
}

void Watcher::set_alarm(std::uint64_t at_ns) noexcept {
  const std::lock_guard lock(alarm_mutex_);
  if (at_ns >= pending_alarm_ns_) {
    return;
  }
  pending_alarm_ns_ = at_ns;
  // An all-zero time would switch the timer off.
  const std::uint64_t point_ns = at_ns == 0 ? 1 : at_ns;
  itimerspec when{};
  when.it_value.tv_sec = static_cast<time_t>(point_ns / 1'000'000'000);
  when.it_value.tv_nsec = static_cast<long>(point_ns % 1'000'000'000);
  ::timerfd_settime(timer_.get(), TFD_TIMER_ABSTIME, &when, nullptr);
}

bool Watcher::take_alarm() noexcept {
  const std::lock_guard lock(alarm_mutex_);
  std::uint64_t expirations = 0;
  // Nothing to read: it was set anew, for an earlier point, after poll had seen it expire.
  if (::read(timer_.get(), &expirations, sizeof expirations) <= 0) {
    return false;
  }
  pending_alarm_ns_ = kNoAlarm;
  return true;
}

bool Watcher::stopped_within(std::chrono::nanoseconds duration) const noexcept {
  pollfd watched{stop_.get(), POLLIN, 0};
  const timespec timeout{static_cast<time_t>(duration.count() / 1'000'000'000),
                         static_cast<long>(duration.count() % 1'000'000'000)};
  return ::ppoll(&watched, 1, &timeout, nullptr) > 0;
}

void Watcher::run() {
  for (;;) {
    std::array<pollfd, 3> watched{pollfd{stop_.get(), POLLIN, 0}, pollfd{timer_.get(), POLLIN, 0},
                                  pollfd{events_.socket(), POLLIN, 0}};
    if (::poll(watched.data(), watched.size(), -1) < 0) {
      continue;
    }
    if (watched[0].revents != 0) {
      return;
    }
    if (watched[1].revents != 0 && take_alarm()) {
      events_.on_alarm();
    }
    if (watched[2].revents != 0) {
      events_.on_socket();
    }
  }
}

}  // namespace overlap
