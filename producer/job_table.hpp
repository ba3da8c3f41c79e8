#pragma once

#include "producer/channel_connection.hpp"
#include "producer/job_id.hpp"
#include "shared/channel_layout.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace overlap {

/// ```
///  add ──► queued ──► submitted ──► done ──► (picked up: gone)
///            ▲            │
///            └── the daemon went ──► done, as device_lost
/// ```
enum class JobPhase : std::uint8_t {
  /// Not in the ring of a living channel.
  queued,
  submitted,
  done,
};

/// How often a job may be found on a device whose daemon died before it runs with nothing beside it.
inline constexpr std::uint32_t kDeathsBeforeIsolation = 2;
/// How often it may be found there alone.
inline constexpr std::uint32_t kDeathsAloneBeforeLost = 2;

/// A flag of a submission that no daemon knows, so that every one refuses the job: see
/// shared/README.md.
inline constexpr std::uint16_t kSubmissionRefuse = 1U << 15U;
static_assert((kSubmissionRefuse & kKnownSubmissionFlags) == 0);

/// What the library knows of one job. Three cache lines: what submission and collection both touch
/// is in the first.
struct alignas(64) JobRecord {
  JobId id{};
  /// The caller's own number.
  std::uint64_t tag = 0;
  /// Where its input, and later its output, lies. The record counts as one of that memory's users.
  ChannelConnection* connection = nullptr;
  std::uint64_t input_bytes = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t ready_ns = 0;
  std::uint32_t slot = 0;
  /// Threads that wait for exactly this job: nobody else is given it.
  std::uint32_t claims = 0;
  std::uint8_t pipeline_index = 0;
  /// Changed by `JobTable` alone.
  JobPhase phase = JobPhase::queued;
  bool cancel_wanted = false;
  /// In the ring of the current channel.
  bool cancel_written = false;
  /// Those of `parameters` that are there: `submission_parameter_flag`. Or `kSubmissionRefuse`, once
  /// there was a daemon that does not take them.
  std::uint16_t parameter_flags = 0;

  /// Daemons that died while this job was on the device.
  std::uint32_t deaths = 0;
  /// The same, while it was there alone.
  std::uint32_t deaths_alone = 0;
  std::uint64_t collected_ns = 0;
  union {
    /// How it ended, once it is done.
    CompletionEntry completion{};
    /// What it brought along, until then and if there are flags: as in `SubmissionEntry::params`.
    std::array<std::byte, kParamBytes> parameters;
  };

  [[nodiscard]] bool isolated() const noexcept { return deaths >= kDeathsBeforeIsolation; }

 private:
  friend class JobTable;
  struct Links {
    JobRecord* previous = nullptr;
    JobRecord* next = nullptr;
  };

  /// In the list of all jobs, in submission order.
  Links in_order_;
  /// Among those that are queued, in submission order, or those that are done, in completion order.
  Links in_phase_;
  /// The next job of the same bucket.
  JobRecord* chain_ = nullptr;
};

/// Jobs by id, from their submission until their result is picked up. Restricted: one thread at a
/// time. References stay valid until `remove`.
///
/// Nothing here grows with the number of jobs that there are, but for the two visits that say so,
/// and nothing allocates once the table has been as full as it gets. A look for the first of an
/// order passes over the jobs that threads wait for by id.
class JobTable {
 public:
  JobTable();
  JobTable(const JobTable&) = delete;
  JobTable& operator=(const JobTable&) = delete;

  /// Makes room: the next `count` calls of `add` allocate nothing and do not throw.
  void reserve(std::size_t count);
  /// A queued job with the next id, for the caller to fill in.
  [[nodiscard]] JobRecord& add();
  /// The next id, for something that is no job but has its place among the jobs.
  [[nodiscard]] JobId take_id() noexcept { return JobId{++last_id_}; }
  /// @return null if there is no such job (any more)
  [[nodiscard]] JobRecord* find(JobId id) const noexcept;
  /// It is in the ring of a living channel.
  /// @pre it is queued
  void mark_submitted(JobRecord& job) noexcept;
  /// The channel went: whatever is not done is queued, in submission order. Visits every job.
  void queue_unfinished() noexcept;
  /// @pre the job is not done
  void finish(JobRecord& job, const CompletionEntry& completion, std::uint64_t now_ns) noexcept;
  /// Forgets the job; the reference is then one to nothing.
  void remove(JobRecord& job) noexcept;

  /// Somebody waits for exactly this job, or has stopped doing so.
  static void claim(JobRecord& job) noexcept { ++job.claims; }
  static void unclaim(JobRecord& job) noexcept { --job.claims; }

  /// The job that was done first among those that nobody waits for by id; null if there is none.
  [[nodiscard]] JobRecord* first_done() const noexcept;
  /// The job that was submitted first among those that nobody waits for by id; null if there is none.
  [[nodiscard]] JobRecord* first_submitted() const noexcept;
  /// The oldest job that is queued; null if there is none.
  [[nodiscard]] JobRecord* first_queued() const noexcept { return queued_.first; }
  /// The queued job behind this one; null if there is none.
  /// @pre it is queued
  [[nodiscard]] static JobRecord* next_queued(const JobRecord& job) noexcept {
    return job.in_phase_.next;
  }

  /// Jobs that are not done.
  [[nodiscard]] std::size_t unfinished() const noexcept { return size_ - results_; }
  /// Jobs that are done and not picked up.
  [[nodiscard]] std::size_t results() const noexcept { return results_; }

  /// Calls `visit(JobRecord&)` for every unfinished job in submission order; it may finish the job.
  template <class Visit>
  void for_each_unfinished(Visit visit) {
    for (JobRecord* job = all_.first; job != nullptr; job = job->in_order_.next) {
      if (job->phase != JobPhase::done) {
        visit(*job);
      }
    }
  }

 private:
  using Links = JobRecord::Links;
  struct List {
    JobRecord* first = nullptr;
    JobRecord* last = nullptr;
  };

  template <Links JobRecord::*links>
  static void append(List& list, JobRecord& job) noexcept;
  template <Links JobRecord::*links>
  static void take_out(List& list, JobRecord& job) noexcept;

  [[nodiscard]] JobRecord*& bucket(JobId id) noexcept;
  void grow_buckets(unsigned bits);

  /// Never shrinks, and records stay where they are.
  std::vector<std::unique_ptr<JobRecord[]>> chunks_;
  std::size_t record_count_ = 0;
  /// Has room for all of them. The one that was used last is taken first.
  std::vector<JobRecord*> unused_;
  /// A power of two of chains, at least as many as there are records.
  std::vector<JobRecord*> buckets_;
  unsigned bucket_shift_ = 0;
  List all_;
  List queued_;
  List done_;
  std::size_t size_ = 0;
  std::size_t results_ = 0;
  std::uint64_t last_id_ = 0;
};

/// What the death of a daemon means for a job that had no result yet.
/// @param issued whether the dead daemon had it on the device
/// @return whether the job has to end as `device_lost`
[[nodiscard]] bool count_death(JobRecord& job, bool issued) noexcept;

}  // namespace overlap
