#include "daemon/engine/engine_thread.hpp"

#include "shared/monotonic_clock.hpp"

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/timerfd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <system_error>

namespace overlap {
namespace {

/// A sleep with work in flight ends by itself: the device's wake-up is not called after an error.
constexpr std::uint64_t kMaxSleepInFlightNs = 50'000'000;
/// A sleep beside a channel without room ends by itself: its producer makes room without a word.
constexpr std::uint64_t kMaxSleepWhenFullNs = 1'000'000;

void relax() noexcept {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

void watch(int epoll, int fd) noexcept {
  epoll_event event{};
  event.events = EPOLLIN | EPOLLET;
  event.data.fd = fd;
  ::epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

/// @param limit_ns UINT64_MAX for none
void wait_for_events(int epoll, std::uint64_t limit_ns) noexcept {
  epoll_event events[16];
#if defined(__GLIBC__) && __GLIBC_PREREQ(2, 35)
  const timespec limit{static_cast<time_t>(limit_ns / 1'000'000'000),
                       static_cast<long>(limit_ns % 1'000'000'000)};
  const int count =
      ::epoll_pwait2(epoll, events, 16, limit_ns == UINT64_MAX ? nullptr : &limit, nullptr);
  if (count >= 0 || errno != ENOSYS) {
    return;
  }
#endif
  // Before Linux 5.11: whole milliseconds, rounded up.
  const int limit_ms =
      limit_ns == UINT64_MAX ? -1 : static_cast<int>((limit_ns + 999'999) / 1'000'000);
  ::epoll_wait(epoll, events, 16, limit_ms);
}

void unwatch(int epoll, int fd) noexcept { ::epoll_ctl(epoll, EPOLL_CTL_DEL, fd, nullptr); }

}  // namespace

class EngineThread::DoorbellKeeper final : public EngineListener {
 public:
  DoorbellKeeper(int epoll, EngineListener& next) : epoll_(epoll), next_(next) {}

  void on_violation(ChannelId channel, const std::string& why) override {
    next_.on_violation(channel, why);
  }
  void on_parked(ChannelId channel, int doorbell) override {
    unwatch(epoll_, doorbell);
    next_.on_parked(channel, doorbell);
  }
  void on_unparked(ChannelId channel, int doorbell) override {
    next_.on_unparked(channel, doorbell);
    watch(epoll_, doorbell);
  }
  void on_tables_copied(ChannelId channel) override { next_.on_tables_copied(channel); }
  void on_removed(ChannelId channel) override { next_.on_removed(channel); }
  void on_drained() override { next_.on_drained(); }
  void on_device_lost(int code) override { next_.on_device_lost(code); }

 private:
  int epoll_;
  EngineListener& next_;
};

EngineThread::EngineThread(Device& device, const EngineSettings& settings, const IdleSettings& idle,
                           EngineListener& listener, EngineLoad* load)
    : idle_(idle),
      epoll_(::epoll_create1(EPOLL_CLOEXEC)),
      wake_(make_eventfd()),
      park_timer_(::timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK)) {
  if (!epoll_) {
    throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
  if (!park_timer_) {
    throw std::system_error(errno, std::generic_category(), "timerfd_create");
  }
  watch(epoll_.get(), wake_.get());
  watch(epoll_.get(), park_timer_.get());
  keeper_ = std::make_unique<DoorbellKeeper>(epoll_.get(), listener);
  std::promise<void> started;
  std::future<void> outcome = started.get_future();
  thread_ = std::thread([this, &device, settings, load, promise = std::move(started)]() mutable {
    run(device, settings, load, std::move(promise));
  });
  try {
    outcome.get();
  } catch (...) {
    thread_.join();
    throw;
  }
}

EngineThread::~EngineThread() {
  post(Stop{});
  thread_.join();
}

void EngineThread::run(Device& device, const EngineSettings& settings, EngineLoad* load,
                       std::promise<void> started) {
  // Signals belong to the daemon's main thread.
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, nullptr);
  pthread_setname_np(pthread_self(), "engine");
  try {
    engine_ = std::make_unique<Engine>(device, settings, *keeper_, load);
  } catch (...) {
    started.set_exception(std::current_exception());
    return;
  }
  started.set_value();
  loop(device);
  // Nothing may touch a slot once this thread has gone.
  while (engine_->has_work_in_flight() && !engine_->is_lost()) {
    engine_->wind_down(monotonic_now_ns());
  }
}

void EngineThread::loop(Device& device) {
  std::uint64_t idle_since_ns = 0;
  while (true) {
    const std::uint64_t now_ns = monotonic_now_ns();
    if (has_mail_.load(std::memory_order_acquire)) {
      read_mail(now_ns);
      if (stopping_) {
        return;
      }
    }
    if (engine_->do_work(now_ns) != 0) {
      idle_since_ns = 0;
      continue;
    }
    if (idle_since_ns == 0) {
      idle_since_ns = now_ns;
    }
    if (now_ns >= next_park_ns_) {
      const auto park_after_ns = static_cast<std::uint64_t>(idle_.park_after.count());
      engine_->park(now_ns > park_after_ns ? now_ns - park_after_ns : 0);
      next_park_ns_ = now_ns + park_after_ns / 2;
    }
    if (goes_on_polling(now_ns - idle_since_ns)) {
      relax();
      continue;
    }
    sleep(device, now_ns);
  }
}

bool EngineThread::goes_on_polling(std::uint64_t idle_ns) const noexcept {
  return idle_.spin ? idle_ns < static_cast<std::uint64_t>(idle_.spin->count())
                    : engine_->has_polled_channels() || engine_->has_work_in_flight();
}

void EngineThread::sleep(Device& device, std::uint64_t now_ns) {
  // 'engine mail': store `asleep_`, then load `has_mail_`; `post` stores the one, then loads the other.
  asleep_.store(true, std::memory_order_seq_cst);
  const bool quiet = !has_mail_.load(std::memory_order_seq_cst) && engine_->fall_asleep();
  if (quiet) {
    std::uint64_t limit_ns = UINT64_MAX;
    bool ready = false;
    if (engine_->has_work_in_flight()) {
      engine_->for_each_awaited_event([&](EventId awaited) {
        device.ring_when_over(awaited, wake_.get());
        ready = ready || device.query(awaited).state != EventState::pending;
      });
      limit_ns = kMaxSleepInFlightNs;
    }
    if (engine_->has_polled_channels()) {
      arm_park_timer(now_ns);
    }
    if (engine_->has_full_channels()) {
      limit_ns = std::min(limit_ns, kMaxSleepWhenFullNs);
    }
    const std::uint64_t held_until_ns = engine_->held_until_ns();
    if (held_until_ns != UINT64_MAX) {
      limit_ns = std::min(limit_ns, held_until_ns > now_ns ? held_until_ns - now_ns : 0);
    }
    if (!ready) {
      // Edge-triggered and never read: whatever rang, polling finds out what there is to do.
      wait_for_events(epoll_.get(), limit_ns);
      sleep_count_.fetch_add(1, std::memory_order_relaxed);
    }
    engine_->stay_awake();
  }
  asleep_.store(false, std::memory_order_relaxed);
}

void EngineThread::arm_park_timer(std::uint64_t now_ns) noexcept {
  // Set once for many sleeps: a time limit on each of them would program a timer every time, which in
  // a virtual machine costs more than the rest of the sleep.
  if (park_timer_ns_ > now_ns) {
    return;
  }
  park_timer_ns_ = std::max(next_park_ns_, now_ns + 1);
  itimerspec due{};
  due.it_value.tv_sec = static_cast<time_t>(park_timer_ns_ / 1'000'000'000);
  due.it_value.tv_nsec = static_cast<long>(park_timer_ns_ % 1'000'000'000);
  // Fails for arguments alone.
  ::timerfd_settime(park_timer_.get(), TFD_TIMER_ABSTIME, &due, nullptr);
}

void EngineThread::post(Mail mail) {
  {
    const std::lock_guard lock(mailbox_mutex_);
    mailbox_.push_back(std::move(mail));
  }
  has_mail_.store(true, std::memory_order_seq_cst);
  if (asleep_.load(std::memory_order_seq_cst)) {
    ring(wake_.get());
  }
}

void EngineThread::read_mail(std::uint64_t now_ns) {
  std::vector<Mail> mails;
  {
    const std::lock_guard lock(mailbox_mutex_);
    mails.swap(mailbox_);
    has_mail_.store(false, std::memory_order_relaxed);
  }
  for (Mail& mail : mails) {
    if (auto* add = std::get_if<Add>(&mail)) {
      watch(epoll_.get(), add->channel->doorbell());
      engine_->add(std::move(add->channel), now_ns);
    } else if (const auto* remove = std::get_if<Remove>(&mail)) {
      engine_->remove(remove->channel);
    } else if (const auto* unpark = std::get_if<Unpark>(&mail)) {
      engine_->unpark(unpark->channel, now_ns);
    } else if (std::holds_alternative<Drain>(mail)) {
      engine_->drain();
    } else {
      stopping_ = true;
    }
  }
}

void EngineThread::add(std::unique_ptr<Channel> channel) { post(Add{std::move(channel)}); }
void EngineThread::remove(ChannelId channel) { post(Remove{channel}); }
void EngineThread::unpark(ChannelId channel) { post(Unpark{channel}); }
void EngineThread::drain() { post(Drain{}); }
void EngineThread::forget_doorbell(int doorbell) noexcept { unwatch(epoll_.get(), doorbell); }

}  // namespace overlap
