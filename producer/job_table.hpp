#pragma once

#include "producer/channel_connection.hpp"
#include "producer/job_id.hpp"
#include "shared/channel_layout.hpp"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <memory_resource>
#include <optional>

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

/// What the library knows of one job.
struct JobRecord {
  std::uint64_t tag = 0;
  /// Where its input, and later its output, lies.
  std::shared_ptr<ChannelConnection> connection;
  std::uint32_t slot = 0;
  std::uint8_t pipeline_index = 0;
  JobPhase phase = JobPhase::queued;
  bool cancel_wanted = false;
  /// In the ring of the current channel.
  bool cancel_written = false;
  std::uint64_t input_bytes = 0;
  std::uint64_t deadline_ns = 0;
  std::uint64_t ready_ns = 0;
  /// Daemons that died while this job was on the device.
  std::uint32_t deaths = 0;
  /// The same, while it was there alone.
  std::uint32_t deaths_alone = 0;
  /// Threads that wait for exactly this job: nobody else is given it.
  std::uint32_t claims = 0;
  CompletionEntry completion{};
  std::uint64_t collected_ns = 0;
  /// Place in the order of completion; 0 while not done.
  std::uint64_t done_number = 0;

  [[nodiscard]] bool isolated() const noexcept { return deaths >= kDeathsBeforeIsolation; }
};

/// Jobs by id, from their submission until their result is picked up. Restricted: one thread at a
/// time. References stay valid until `remove`.
class JobTable {
 public:
  /// @return the id, one more than the last one given
  JobId add(JobRecord job);
  /// @return null if there is no such job (any more)
  [[nodiscard]] JobRecord* find(JobId id) noexcept;
  /// @pre the job is not done
  void finish(JobId id, JobRecord& job, const CompletionEntry& completion, std::uint64_t now_ns);
  /// The job, which is then forgotten.
  [[nodiscard]] JobRecord remove(JobId id);

  /// Somebody waits for exactly this job, or has stopped doing so.
  void claim(JobRecord& job) noexcept { ++job.claims; }
  void unclaim(JobRecord& job) noexcept { --job.claims; }

  /// The job that was done first among those that nobody waits for by id.
  [[nodiscard]] std::optional<JobId> first_done() const noexcept;
  /// The job that was submitted first among those that nobody waits for by id.
  [[nodiscard]] std::optional<JobId> first_submitted() const noexcept;
  /// The oldest job that is queued.
  [[nodiscard]] std::optional<JobId> first_queued() const noexcept;

  [[nodiscard]] bool is_done(JobId id) const noexcept {
    const auto found = jobs_.find(id);
    return found != jobs_.end() && found->second.phase == JobPhase::done;
  }

  /// Jobs that are not done.
  [[nodiscard]] std::size_t unfinished() const noexcept { return unfinished_; }
  /// Jobs that are done and not picked up.
  [[nodiscard]] std::size_t results() const noexcept { return done_.size(); }

  /// Calls `visit(JobId, JobRecord&)` for every unfinished job in submission order; it may finish the job.
  template <class Visit>
  void for_each_unfinished(Visit visit) {
    for (auto& [id, job] : jobs_) {
      if (job.phase != JobPhase::done) {
        visit(id, job);
      }
    }
  }

 private:
  // Nodes come from a pool: no allocation per job once the table has been as full as it gets.
  std::pmr::unsynchronized_pool_resource pool_;
  std::pmr::map<JobId, JobRecord> jobs_{&pool_};
  std::pmr::map<std::uint64_t, JobId> done_{&pool_};
  std::size_t unfinished_ = 0;
  std::uint64_t last_id_ = 0;
  std::uint64_t last_done_ = 0;
};

/// What the death of a daemon means for a job that had no result yet.
/// @param issued whether the dead daemon had it on the device
/// @return whether the job has to end as `device_lost`
[[nodiscard]] bool count_death(JobRecord& job, bool issued) noexcept;

}  // namespace overlap
