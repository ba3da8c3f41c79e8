#include "producer/producer_core.hpp"

#include <boost/interprocess/exceptions.hpp>

#include <algorithm>
#include <string>

namespace overlap {
namespace {

/// Polls between two looks at the clock.
constexpr int kPollsPerClock = 16;

void pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

bool poll_until(const CompletionReader& reader, std::uint64_t end_ns) noexcept {
  do {
    for (int i = 0; i < kPollsPerClock; ++i) {
      if (reader.available() != 0) {
        return true;
      }
      pause();
    }
  } while (monotonic_now_ns() < end_ns);
  return false;
}

void sleep_on(const ChannelConnection& connection) {
  try {
    connection.view().semaphore().wait();
  } catch (const boost::interprocess::interprocess_exception&) {
    // Boost throws when a signal handler ran (EINTR). Like any wake-up it may mean nothing: the
    // caller looks at the ring and waits again.
  }
}

}  // namespace

void ProducerCore::lead(Lock& lock, std::uint64_t deadline_ns) {
  leader_active_ = true;
  const std::shared_ptr<ChannelConnection> connection = connection_;
  // A copy: others may collect meanwhile, which moves the original's head. Then this one sees
  // something that is there no more, and looks again under the mutex.
  CompletionReader reader = reader_;
  const std::uint64_t alarm_ns =
      has_backlog() ? std::min(deadline_ns, monotonic_now_ns() + kRingRetryNs) : deadline_ns;
  lock.unlock();
  const bool seen =
      spin_ns_ != 0 && poll_until(reader, std::min(deadline_ns, monotonic_now_ns() + spin_ns_));
  if (!seen && !reader.start_waiting(WaitKind::semaphore)) {
    if (alarm_ns != kNoDeadline) {
      watcher_.set_alarm(alarm_ns);
    }
    semaphore_waits_.fetch_add(1, std::memory_order_relaxed);
    sleep_on(*connection);
  }
  lock.lock();
  leader_active_ = false;
  if (state_ == State::live && connection == connection_) {
    reader_.stop_waiting();
  }
  if (collect() == 0 && poll_armed_) {
    arm_poll();
  }
  if (followers_ > 0) {
    // Also when nothing came: one of them has to lead if this thread goes.
    results_changed_.notify_all();
  }
}

void ProducerCore::on_alarm() {
  const Lock lock(mutex_);
  if (leader_active_) {
    connection_->post();
  }
  if (state_ == State::live && has_backlog()) {
    pursue_backlog();
  }
}

void ProducerCore::follow(Lock& lock, std::uint64_t deadline_ns) {
  ++followers_;
  if (deadline_ns == kNoDeadline) {
    results_changed_.wait(lock);
  } else {
    results_changed_.wait_until(
        lock, std::chrono::steady_clock::time_point(std::chrono::nanoseconds(deadline_ns)));
  }
  --followers_;
}

void ProducerCore::wake_everybody() noexcept {
  results_changed_.notify_all();
  slots_changed_.notify_all();
  if (leader_active_) {
    connection_->post();
  }
  poll_.wake();
}

void ProducerCore::flush() {
  Lock lock(mutex_);
  wait_until(lock, kNoDeadline, [this] { return jobs_.unfinished() == 0; });
}

std::optional<Result> ProducerCore::wait_job(JobId id, std::uint64_t deadline_ns) {
  Lock lock(mutex_);
  const auto find = [&]() -> JobRecord& {
    JobRecord* const job = jobs_.find(id);
    if (job == nullptr) {
      throw UnknownJob("job " + std::to_string(job_number(id)) +
                       " does not exist or its result was already picked up");
    }
    return *job;
  };
  JobTable::claim(find());
  try {
    const bool done = wait_until(lock, deadline_ns, [&] { return find().phase == JobPhase::done; });
    if (!done) {
      JobTable::unclaim(find());
      return std::nullopt;
    }
  } catch (...) {
    if (JobRecord* const job = jobs_.find(id)) {
      JobTable::unclaim(*job);
    }
    throw;
  }
  return pick_up(find());
}

std::optional<Result> ProducerCore::wait_in(ResultOrder order, std::uint64_t deadline_ns) {
  Lock lock(mutex_);
  JobRecord* job = nullptr;
  const bool found = wait_until(lock, deadline_ns, [&] {
    job = next_result(order);
    return job != nullptr;
  });
  return found ? std::optional(pick_up(*job)) : std::nullopt;
}

std::size_t ProducerCore::wait_many(std::span<Result> results, std::uint64_t deadline_ns) {
  if (results.empty()) {
    return 0;
  }
  Leavings leavings;
  Lock lock(mutex_);
  const bool found =
      wait_until(lock, deadline_ns, [this] { return jobs_.first_done() != nullptr; });
  return found ? hand_over(results, leavings) : 0;
}

template <class Done>
bool ProducerCore::try_now(Done done) {
  for (;;) {
    disarm_poll();
    collect();
    if (done()) {
      return true;
    }
    raise_if_failed();
    if (!poll_.is_open()) {
      return false;
    }
    poll_.quiet();
    const std::size_t results = jobs_.results();
    arm_poll();
    // What came while the descriptor was being silenced may be the one that is wanted.
    if (jobs_.results() == results) {
      return false;
    }
  }
}

std::optional<Result> ProducerCore::try_in(ResultOrder order) {
  const Lock lock(mutex_);
  JobRecord* job = nullptr;
  const bool found = try_now([&] {
    job = next_result(order);
    return job != nullptr;
  });
  return found ? std::optional(pick_up(*job)) : std::nullopt;
}

std::size_t ProducerCore::try_many(std::span<Result> results) {
  if (results.empty()) {
    return 0;
  }
  Leavings leavings;
  const Lock lock(mutex_);
  const bool found = try_now([this] { return jobs_.first_done() != nullptr; });
  return found ? hand_over(results, leavings) : 0;
}

void ProducerCore::arm_poll() {
  poll_armed_ = true;
  // While a leader waits it rings the descriptor for the poll loop; while the channel is being
  // resumed, the watcher does.
  if (leader_active_ || state_ != State::live) {
    return;
  }
  if (reader_.start_waiting(WaitKind::descriptor)) {
    reader_.stop_waiting();
    collect();
  }
}

void ProducerCore::disarm_poll() noexcept {
  if (std::exchange(poll_armed_, false) && !leader_active_ && state_ == State::live) {
    reader_.stop_waiting();
  }
}

int ProducerCore::completion_descriptor() {
  const Lock lock(mutex_);
  raise_if_failed();
  poll_.open(connection_->wake_descriptor());
  return poll_.descriptor();
}

}  // namespace overlap
