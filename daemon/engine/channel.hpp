#pragma once

#include "daemon/engine/history.hpp"
#include "daemon/engine/job_parameters.hpp"
#include "daemon/engine/pin_layout.hpp"
#include "daemon/engine/served_pipeline.hpp"
#include "daemon/engine/slot_queue.hpp"
#include "daemon/engine/slot_state.hpp"
#include "daemon/engine/table_uploads.hpp"
#include "kernels/pipeline.hpp"
#include "shared/channel_priority.hpp"
#include "shared/channel_view.hpp"
#include "shared/completion_ring.hpp"
#include "shared/control_protocol.hpp"
#include "shared/job_status.hpp"
#include "shared/submission_ring.hpp"

#include <cassert>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace overlap {

enum class ChannelId : std::uint64_t {};

/// A job between its taking and its completion. Everything here is the daemon's own copy. There is
/// one a slot, in the channel: it stays where it is while the job is under way. One cache line: it is
/// touched at every step of every job.
struct alignas(64) Job {
  std::uint64_t job_id = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t ready_ns = 0;
  std::uint64_t taken_ns = 0;
  std::uint64_t issued_ns = 0;
  PlanCache::Entry* plan = nullptr;
  /// What it was expected to take on the device when it was issued; what is more counts as this much.
  std::uint32_t cost_ns = 0;
  std::uint32_t slot = 0;
  SlotState state = SlotState::free;
  std::uint8_t pipeline_index = 0;
  bool has_deadline : 1 = false;
  bool isolate : 1 = false;
  /// Came back from a batch that failed: runs alone, once more.
  bool retried : 1 = false;
  bool cancelled : 1 = false;
  /// Brings parameters of its own.
  bool has_parameters : 1 = false;
  /// Its pipeline's state is zero bytes before it.
  bool fresh : 1 = false;
  /// Its completion says that history was lost.
  bool discontinuity : 1 = false;

  /// Whether nothing but its size says when and with whom it may run.
  [[nodiscard]] bool is_plain() const noexcept {
    return !has_deadline && !isolate && !retried && !cancelled && !has_parameters && !fresh &&
           !discontinuity;
  }
};
static_assert(sizeof(Job) == 64);

/// What ends a job besides the job itself.
struct JobEnd {
  JobStatus status = JobStatus::ok;
  std::uint64_t output_bytes = 0;
  std::uint32_t detail_code = 0;
  std::uint32_t detail_value = 0;
};

/// A size as `detail_value` tells it: KiB, rounded up, at most what fits.
[[nodiscard]] constexpr std::uint32_t detail_kib(std::uint64_t bytes) noexcept {
  const std::uint64_t kib = bytes / 1024 + (bytes % 1024 != 0 ? 1 : 0);
  return kib < UINT32_MAX ? static_cast<std::uint32_t>(kib) : UINT32_MAX;
}

/// Everything that the engine needs to serve a channel. The memory outlives the channel.
struct ChannelSetup {
  ChannelId id{};
  ChannelView view;
  std::vector<Pipeline> pipelines;
  PinLayout pinning;
  /// Made by the daemon, owned by the session: rung by the producer when the daemon sleeps.
  int doorbell = -1;
  /// Likewise, the write end of a wake pipe: rung by the daemon for producers that wait in a poll loop.
  int wake = -1;
  /// Whether the whole memory is pinned; if not, kernels cannot reach the slots.
  bool pinned = true;
  ChannelPriority priority = ChannelPriority::normal;
  /// Its share of device time among the channels of its priority.
  /// @pre 1 to kMaxChannelWeight
  std::uint32_t weight = kDefaultChannelWeight;
  /// What the producer wrote to the table region before it said 'mapped'.
  /// @pre each fits its stage and lies within the region; every stage that wants one has one
  std::vector<TableEntry> tables{};
  /// An earlier channel's history is gone: the first result of every stateful pipeline says so.
  bool history_lost = false;
};

/// What a stage keeps from job to job.
struct StageState {
  std::uint64_t bytes = 0;
  /// Empty before the channel has joined, and where the device has no memory for it: no job runs then.
  DeviceMemory memory;
};

/// One of a channel's pipelines, with what the channel keeps for it.
struct ChannelPipeline {
  std::shared_ptr<ServedPipeline> served;
  History history;
  /// By stage, where the pipeline is stateful.
  std::vector<StageState> states;
  /// Where a stage reads one; those that jobs are taken with from now on.
  std::shared_ptr<const TableSet> tables;
  /// Whether jobs have neither a state nor tables.
  bool is_plain = true;
};

/// What a channel counts.
struct ChannelCounters {
  std::uint64_t jobs_done = 0;
  std::uint64_t jobs_failed = 0;
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t wakes = 0;
};

/// A channel's standing with the engine that shares its device's time out.
struct FairShare {
  /// Device time that it may still use in this round; below 0 it has used more.
  std::int64_t credit_ns = 0;
};

/// The engine's end of one channel: rings, slots, waiting jobs. Trusts nothing in the memory.
/// Restricted: the engine's thread.
class Channel {
 public:
  explicit Channel(ChannelSetup setup);

  [[nodiscard]] ChannelId id() const noexcept { return setup_.id; }
  [[nodiscard]] const ChannelView& view() const noexcept { return setup_.view; }
  [[nodiscard]] const PinLayout& pinning() const noexcept { return setup_.pinning; }
  [[nodiscard]] ServedPipeline& pipeline(std::uint8_t index) const noexcept {
    return *pipelines_[index].served;
  }
  /// Takes the pipelines that others have already, where they do the same, makes room on the device
  /// for what its kernels keep, and has its tables brought there.
  /// @pre nothing was taken yet; device and uploads outlive the channel
  void join(PipelineTable& table, Device& device, TableUploads& uploads);
  /// Whether the tables it came with are still being read.
  [[nodiscard]] bool brings_first_tables() const noexcept { return first_table_count_ != 0; }
  [[nodiscard]] bool came_with_tables() const noexcept { return !setup_.tables.empty(); }
  [[nodiscard]] ChannelPriority priority() const noexcept { return setup_.priority; }
  [[nodiscard]] std::uint32_t weight() const noexcept { return setup_.weight; }
  [[nodiscard]] bool is_pinned() const noexcept { return setup_.pinned; }
  [[nodiscard]] FairShare& share() noexcept { return share_; }
  [[nodiscard]] int doorbell() const noexcept { return setup_.doorbell; }
  /// What was counted since the last call.
  [[nodiscard]] ChannelCounters drain_counters() noexcept { return std::exchange(counters_, {}); }

  /// Reads what the producer collected and up to `limit` new submissions.
  /// @return how many submissions were read
  /// @post `violation()` is set if the producer broke the rules; nothing is read any more then
  std::uint32_t take(std::uint32_t limit, std::uint64_t now_ns);

  /// Why the channel has to be closed.
  [[nodiscard]] const std::optional<std::string>& violation() const noexcept { return violation_; }

  /// What the channel keeps for a job's pipeline.
  [[nodiscard]] ChannelPipeline& kept_for(const Job& job) noexcept {
    return pipelines_[job.pipeline_index];
  }
  /// The tables that a job was taken with; null where its pipeline has none.
  [[nodiscard]] const TableSet* tables_of(const Job& job) const noexcept {
    return job_tables_.empty() ? nullptr : job_tables_[job.slot].get();
  }
  /// What a job brings: nothing, for most.
  [[nodiscard]] JobParameters parameters_of(const Job& job) const noexcept {
    return job.has_parameters ? job_parameters_[job.slot] : JobParameters{};
  }
  /// Whether a job that is started now needs its pipeline's state to be fresh.
  [[nodiscard]] bool begins_anew(const Job& job) noexcept {
    return job.fresh || kept_for(job).history.begins_anew();
  }

  /// The next job that can be issued, or null: ends the cancelled and the expired ones on the way.
  [[nodiscard]] const Job* next(std::uint64_t now_ns) {
    if (queue_.empty()) {
      return nullptr;
    }
    const Job& first = jobs_[queue_.front()];
    return !first.cancelled && !first.has_deadline ? &first : next_alive(now_ns);
  }
  /// Takes the job that `next` returned onto a lane. Stays valid until `finish` or `requeue`.
  [[nodiscard]] Job& start(std::uint64_t now_ns);
  /// Takes the next jobs that are plain and have this plan, at most `limit`, and calls
  /// `started(Job&)` for each. @return how many
  template <class Started>
  std::uint32_t start_like(const PlanCache::Entry& plan, std::uint32_t limit, std::uint64_t now_ns,
                           Started started) {
    std::uint32_t count = 0;
    for (; count < limit && !queue_.empty(); ++count) {
      Job& job = jobs_[queue_.front()];
      if (job.plan != &plan || !job.is_plain()) {
        break;
      }
      queue_.pop_front();
      mark_started(job, now_ns);
      started(job);
    }
    queued_bytes_ -= count * plan.input_bytes;
    issued_count_ += count;
    return count;
  }
  /// Puts a started job in front again, after an error that was not its own.
  void requeue(Job& job);
  /// Writes the completion of a started job; `publish` shows it.
  void finish(Job& job, const JobEnd& end, std::uint64_t now_ns);
  /// Writes the completions of started jobs that all went well and have one plan.
  void finish_run(std::span<Job* const> jobs, std::uint64_t now_ns);
  /// A batch of a stateful pipeline failed with some of the channel's jobs: whatever is on the device
  /// behind it means nothing either, and the next job that starts has a fresh state.
  void spoil_history(std::uint8_t pipeline_index) noexcept {
    pipelines_[pipeline_index].history.spoil();
  }
  /// A copy of one of its tables has come to its end.
  void on_uploaded(const TableUploads::Purpose& purpose, std::uint64_t now_ns);
  /// Shows written completions and wakes the producer where it waits.
  /// @return whether there were any
  bool publish();

  /// Drops the jobs that are not on a lane, without completions, and lets none come back: the
  /// producer is leaving.
  void close();

  [[nodiscard]] std::uint32_t queued_count() const noexcept { return queue_.size(); }
  /// Input bytes of the queued jobs.
  [[nodiscard]] std::uint64_t queued_bytes() const noexcept { return queued_bytes_; }
  [[nodiscard]] std::uint32_t issued_count() const noexcept { return issued_count_; }
  /// Table updates whose copies are under way.
  [[nodiscard]] std::uint32_t update_count() const noexcept {
    return update_count_ - (held_update_ ? 1U : 0U);
  }
  /// Completions that the producer has not collected yet, as last seen.
  [[nodiscard]] std::uint32_t uncollected_count() const noexcept { return uncollected_; }

  /// @return whether there is something to take after all
  [[nodiscard]] bool fall_asleep() noexcept { return submissions_.fall_asleep() && !is_full(); }
  /// Whether nothing can be taken, whatever was submitted: for want of room for completions, which
  /// the producer collects without a word, or for a table, which ends with jobs on the device.
  [[nodiscard]] bool is_full() const noexcept { return held_update_ || room() == 0; }
  void stay_awake() noexcept { submissions_.stay_awake(); }
  [[nodiscard]] bool has_submissions() const noexcept { return submissions_.available() != 0; }

 private:
  [[nodiscard]] const Job* next_alive(std::uint64_t now_ns);
  [[nodiscard]] bool is_past_deadline(const Job& job, std::uint64_t now_ns) const noexcept {
    return job.has_deadline && deadlines_ns_[job.slot] <= now_ns;
  }
  [[nodiscard]] bool collect();
  /// Jobs that may be taken before their completions could find no place.
  [[nodiscard]] std::uint32_t room() const noexcept;
  void accept(const SubmissionEntry& entry, std::uint64_t now_ns);
  /// @return whether the entry was about no slot
  [[nodiscard]] bool accept_control(const SubmissionEntry& entry, std::uint64_t now_ns);
  void update_table(const SubmissionEntry& entry, std::uint64_t now_ns);
  /// Starts an update that is in order. @return false if there is no room for one more table yet
  [[nodiscard]] bool start_update(const SubmissionEntry& entry, std::uint64_t now_ns);
  /// Answers an update that was taken.
  void finish_update(std::uint64_t job_id, const JobEnd& end, std::uint64_t now_ns);
  [[nodiscard]] std::shared_ptr<UploadedTable> upload(const TableEntry& entry,
                                                      TableUploads::Purpose purpose);
  /// Whether jobs under way leave room for one more table of a size.
  [[nodiscard]] bool has_room_for_table(std::uint64_t bytes);
  /// Ends a job that will not be queued.
  void refuse(Job& job, const JobEnd& end, std::uint64_t now_ns);
  /// Takes parameters, tables and history into account. @return false if the job was refused
  [[nodiscard]] bool accept_extras(Job& job, const SubmissionEntry& entry, std::uint64_t now_ns);
  void accept_job(Job& job, const SubmissionEntry& entry, std::uint64_t now_ns);
  void cancel(const SubmissionEntry& entry) noexcept;
  /// Ends a job that is not on a lane.
  void end(Job& job, const JobEnd& end, std::uint64_t now_ns);
  void mark_started(Job& job, std::uint64_t now_ns) noexcept {
    job.issued_ns = now_ns;
    step(job, SlotState::issued);
    // Before the work that can crash: the producer's library reads it after our death.
    setup_.view.issued(job.slot).store(1, std::memory_order_release);
  }
  void write_completion(const Job& job, const JobEnd& outcome, std::uint16_t flags,
                        std::uint64_t now_ns) noexcept;
  /// Writes a completion and leaves the slot to the producer.
  void complete(Job& job, const JobEnd& outcome, std::uint64_t now_ns) noexcept;
  /// Takes the first job out of the queue.
  Job& dequeue() noexcept {
    Job& job = jobs_[queue_.front()];
    queue_.pop_front();
    queued_bytes_ -= job.input_bytes;
    return job;
  }
  static void step(Job& job, SlotState to) noexcept {
    assert(may_step(job.state, to));
    job.state = to;
  }
  void break_off(std::string why) { violation_ = std::move(why); }

  ChannelSetup setup_;
  SubmissionReader submissions_;
  CompletionWriter completions_;
  std::vector<ChannelPipeline> pipelines_;
  TableUploads* uploads_ = nullptr;
  // By slot.
  std::vector<Job> jobs_;
  /// CLOCK_MONOTONIC; where the job has one.
  std::vector<std::uint64_t> deadlines_ns_;
  /// Empty where no pipeline has tables, or takes parameters from jobs.
  std::vector<std::shared_ptr<const TableSet>> job_tables_;
  std::vector<JobParameters> job_parameters_;
  /// Every table that may still be on the device.
  std::vector<std::weak_ptr<UploadedTable>> live_tables_;
  /// An update that waits for room; nothing behind it is taken.
  std::optional<SubmissionEntry> held_update_;
  std::uint32_t first_table_count_ = 0;
  SlotQueue queue_;
  std::uint64_t queued_bytes_ = 0;
  FairShare share_;
  /// Slots of written completions by their place in the ring.
  std::vector<std::uint32_t> completed_slots_;
  std::uint32_t collected_head_ = 0;
  std::uint32_t uncollected_ = 0;
  std::uint32_t issued_count_ = 0;
  std::uint32_t update_count_ = 0;
  bool unpublished_ = false;
  bool closed_ = false;
  std::optional<std::string> violation_;
  ChannelCounters counters_;
};

}  // namespace overlap
