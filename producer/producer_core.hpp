#pragma once

#include "producer/attach_sequence.hpp"
#include "producer/channel_connection.hpp"
#include "producer/channel_tables.hpp"
#include "producer/completion_poll.hpp"
#include "producer/control_log.hpp"
#include "producer/fork_guard.hpp"
#include "producer/job_table.hpp"
#include "producer/producer_counters.hpp"
#include "producer/producer_error.hpp"
#include "producer/producer_options.hpp"
#include "producer/result.hpp"
#include "producer/slot_table.hpp"
#include "producer/submission.hpp"
#include "producer/watcher.hpp"
#include "shared/completion_ring.hpp"
#include "shared/monotonic_clock.hpp"
#include "shared/submission_ring.hpp"

#include <atomic>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace overlap {

/// A deadline that never comes.
inline constexpr std::uint64_t kNoDeadline = UINT64_MAX;

/// Resets are looked through when there are so many of them and of updates that must be remembered.
inline constexpr std::size_t kLeastCompactedControls = 64;

/// When entries that found no room in the submission ring are tried again.
inline constexpr std::uint64_t kRingRetryNs = 1'000'000;

enum class ResultOrder : std::uint8_t { completion, submission };

/// What stands behind a `Producer` and every handle that it gave out.
///
/// One mutex guards everything below it. At most one thread, the leader, polls and then sleeps on the
/// channel's semaphore, without the mutex; the other waiters sleep on `results_changed_`. Whoever
/// holds the mutex may collect completions. The word `waiting` in the channel belongs to the leader
/// while there is one, else to the holder of the mutex.
///
/// Handles are counted here and not by shared pointers: taking and giving back a slot need the mutex
/// anyway. The core shares in itself from `start` until its `Producer` has left and the last handle
/// has gone; the memory of an earlier channel stays until no slot, job or result is left in it.
///
/// ```
///  live ──► resuming ──► live       the socket hung up; the watcher attaches afresh
///    │          │
///    └──────────┴──────► failed     closed with a reason, refused, or nobody came back
/// ```
/// Thread safety: any.
class ProducerCore : public std::enable_shared_from_this<ProducerCore> {
 public:
  /// @throws AttachError, InvalidSubmission
  explicit ProducerCore(ProducerOptions options);
  /// Starts the watcher.
  void start();
  /// Leaves the channel; handles stay valid. Idempotent.
  void stop() noexcept;

  [[nodiscard]] bool forked() const noexcept { return fork_flag_.raised(); }
  void check_fork() const { fork_flag_.check(); }

  /// @param deadline_ns CLOCK_MONOTONIC; one that has passed: do not wait
  [[nodiscard]] std::optional<Slot> acquire(std::uint64_t deadline_ns);
  /// Never waits.
  [[nodiscard]] std::size_t acquire_many(std::span<Slot> slots);
  template <class Handle>
  void release_many(std::span<Handle> handles);
  /// @pre ids.size() >= submissions.size()
  void submit(std::span<Submission> submissions, std::span<JobId> ids);
  [[nodiscard]] bool cancel(JobId id);
  void flush();
  void update_table(std::uint8_t pipeline_index, std::uint8_t stage_index,
                    std::span<const std::byte> bytes);
  void settle_tables();
  void reset_state(std::uint8_t pipeline_index);
  [[nodiscard]] std::optional<Result> wait_job(JobId id, std::uint64_t deadline_ns);
  [[nodiscard]] std::optional<Result> wait_in(ResultOrder order, std::uint64_t deadline_ns);
  /// Never waits; arms `completion_descriptor` when it finds nothing.
  [[nodiscard]] std::optional<Result> try_in(ResultOrder order);
  /// As many as there are, at least one unless the deadline passes.
  [[nodiscard]] std::size_t wait_many(std::span<Result> results, std::uint64_t deadline_ns);
  /// Never waits; arms `completion_descriptor` when it finds nothing.
  [[nodiscard]] std::size_t try_many(std::span<Result> results);
  [[nodiscard]] int completion_descriptor();

  [[nodiscard]] std::shared_ptr<ChannelConnection> connection() const;
  [[nodiscard]] std::uint32_t resume_count() const;
  [[nodiscard]] ProducerCounters counters() const;

  /// For handles that go.
  void give_back(ChannelConnection& connection, std::uint32_t index) noexcept;

 private:
  enum class State : std::uint8_t { live, resuming, failed };
  using Lock = std::unique_lock<std::mutex>;

  /// What is let go while the mutex is held, and destroyed once it is not: declared before the lock.
  struct Leavings {
    std::list<std::shared_ptr<ChannelConnection>> memory;
    /// Of other Producers, in whose place a handle of this one was put.
    std::vector<SlotHold> foreign;
    std::shared_ptr<ProducerCore> core;
  };

  // producer_slots.cpp: claims on slots.
  [[nodiscard]] SlotHold new_hold(std::uint32_t index) noexcept;
  void take_back(ChannelConnection& connection, std::uint32_t index, Leavings& leavings) noexcept;
  void vacate(SlotHold& hold, Leavings& leavings);
  void drop_user(ChannelConnection& connection, Leavings& leavings) noexcept;
  void bring_to_current_channel(Lock& lock, std::span<Submission> submissions, Leavings& leavings);

  // producer_core.cpp: submission, collection.
  void validate(std::span<const Submission> submissions) const;
  void check_parameters(std::span<const Submission> submissions) const;
  [[nodiscard]] DeclaredJobParameters declared_parameters(
      std::uint8_t pipeline_index) const noexcept;
  /// Places that each ring has beyond one for every slot.
  [[nodiscard]] std::size_t room_beside_jobs() const noexcept;
  [[nodiscard]] bool write_beside_jobs(const SubmissionEntry& entry);
  [[nodiscard]] bool write_queued();
  [[nodiscard]] bool write_job(JobRecord& job);
  [[nodiscard]] bool write_cancel(JobRecord& job);
  void cancel_soon(JobRecord& job);
  [[nodiscard]] bool has_backlog() const noexcept {
    return entries_queued_ || !deferred_cancels_.empty();
  }
  void write_backlog();
  /// Writes what can be written now, and sees that the rest is tried again.
  void pursue_backlog();
  void retry_soon() noexcept;
  void publish();
  /// Takes what has come, then writes the backlog. @return how many completions
  std::uint32_t collect();
  std::uint32_t take_completions();
  [[nodiscard]] bool accept(const CompletionEntry& entry, std::uint64_t now_ns);
  [[nodiscard]] bool accept_job(const CompletionEntry& entry, std::uint64_t now_ns);
  [[nodiscard]] Result pick_up(JobRecord& job) noexcept;
  [[nodiscard]] std::size_t hand_over(std::span<Result> results, Leavings& leavings);
  [[nodiscard]] JobRecord* next_result(ResultOrder order) const noexcept;
  void fail(ChannelFailure failure) noexcept;
  void fail_as_broken(const std::string& what) noexcept;
  void raise_if_failed() const;

  // producer_controls.cpp: updates of tables, resets of state.
  [[nodiscard]] std::uint8_t await_place(Lock& lock, std::uint8_t table);
  void submit_control(ControlRecord record);
  [[nodiscard]] bool write_control(ControlRecord& record);
  [[nodiscard]] bool accept_update_answer(const CompletionEntry& entry);
  void compact_controls();
  void raise_if_table_refused();

  // producer_wait.cpp: leader, followers, poll loops.
  template <class Done>
  bool wait_until(Lock& lock, std::uint64_t deadline_ns, Done done);
  template <class Done>
  bool try_now(Done done);
  void lead(Lock& lock, std::uint64_t deadline_ns);
  void follow(Lock& lock, std::uint64_t deadline_ns);
  void arm_poll();
  void disarm_poll() noexcept;
  void wake_everybody() noexcept;
  void on_alarm();

  // producer_resume.cpp: on the watcher's thread.
  void serve_socket();
  void lose_channel(CloseReason reason);
  void close_channel(CloseReason reason, std::string_view daemon_text);
  void account_for_death();
  void account_for_lost_state();
  void end_without_run(JobRecord& job, JobStatus status) noexcept;
  void translate_parameters_of_jobs(const ChannelConnection& former) noexcept;
  [[nodiscard]] std::shared_ptr<ChannelConnection> attach_afresh();
  void adopt_channel(std::shared_ptr<ChannelConnection> connection);
  void bring_jobs_to_current_channel(Lock& lock, Leavings& leavings);

  ForkFlag fork_flag_;
  ProducerOptions options_;
  std::uint64_t spin_ns_;
  /// While the channel is resumed nobody changes its contents, and the watcher reads them without the
  /// mutex.
  ChannelTables tables_;
  AttachGoal plan_;
  Watcher watcher_;

  mutable std::mutex mutex_;
  std::condition_variable results_changed_;
  std::condition_variable slots_changed_;
  std::uint32_t followers_ = 0;
  std::uint32_t slot_waiters_ = 0;
  bool leader_active_ = false;
  /// A poll loop found nothing and may be asleep on `poll_`.
  bool poll_armed_ = false;
  CompletionPoll poll_;

  State state_ = State::live;
  ChannelFailure failure_;
  bool stopped_ = false;
  std::shared_ptr<ProducerCore> self_;
  /// Slots and results that are out.
  std::uint64_t handles_ = 0;
  /// The daemon said that it is stopping; not a death, then.
  bool draining_ = false;
  std::uint32_t resume_count_ = 0;

  /// Replaced by the watcher's thread alone, so that this thread may read it without the mutex.
  std::shared_ptr<ChannelConnection> connection_;
  /// Earlier ones whose memory has users.
  std::list<std::shared_ptr<ChannelConnection>> retired_;
  SubmissionWriter writer_;
  CompletionReader reader_;
  SlotTable slots_;
  JobTable jobs_;
  /// Entries written to the current ring; runs freely.
  std::uint32_t entries_written_ = 0;
  /// Where in the ring the entries are that are no jobs and that the daemon may not have taken.
  std::deque<std::uint32_t> control_positions_;
  /// Updates in the current ring whose answers were not collected.
  std::uint32_t updates_out_ = 0;
  /// Jobs whose cancel entries found no room.
  std::deque<JobId> deferred_cancels_;
  ControlLog controls_;
  /// The size of `controls_` at which resets compact it.
  std::size_t compact_at_ = kLeastCompactedControls;
  /// Jobs, updates or resets wait in a live channel for room in the ring, or for a place of a table.
  bool entries_queued_ = false;
  /// The oldest refusal of a table that nobody was told of.
  std::optional<TableRefused> table_refusal_;
  ProducerCounters counters_;
  /// Counted by the leader without the mutex.
  std::atomic<std::uint64_t> semaphore_waits_{0};
};

template <class Done>
bool ProducerCore::wait_until(Lock& lock, std::uint64_t deadline_ns, Done done) {
  for (;;) {
    collect();
    if (done()) {
      return true;
    }
    raise_if_failed();
    if (deadline_ns != kNoDeadline && monotonic_now_ns() >= deadline_ns) {
      return false;
    }
    if (state_ == State::live && !leader_active_) {
      lead(lock, deadline_ns);
    } else {
      follow(lock, deadline_ns);
    }
  }
}

}  // namespace overlap
