#pragma once

#include "producer/channel_tables.hpp"
#include "producer/job_table.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace overlap {

/// ```
///  add ──► queued ──► written ──► answered      (a reset is never answered)
///            ▲           │            │
///            └───────────┴────────────┘  the daemon went
/// ```
enum class ControlPhase : std::uint8_t { queued, written, answered };

/// An update of a table or a reset of state: an entry of the submission ring that is no job, but whose
/// place among the jobs matters.
struct ControlRecord {
  /// From the same count as the jobs' ids, so that these say what comes before what.
  JobId id{};
  Opcode opcode = Opcode::reset_state;
  std::uint8_t pipeline_index = 0;
  /// Of an update.
  std::uint8_t table = 0;
  ControlPhase phase = ControlPhase::queued;
  /// Where in the current channel the content lies.
  std::optional<std::uint8_t> place{};
  std::vector<std::byte> content{};
  /// Unfinished jobs of the same pipeline that were submitted earlier. Valid within `compact`.
  std::uint64_t jobs_before = 0;
};

/// Updates and resets in submission order, for as long as a job that has no result yet might have to
/// run again with what came before or after them. Restricted: one thread at a time. References stay
/// valid until `add`, `remove` or `compact`.
class ControlLog {
 public:
  [[nodiscard]] std::size_t size() const noexcept { return records_.size(); }
  /// @pre its id is above all others; it is queued
  void add(ControlRecord record);
  /// @return null if there is no such record
  [[nodiscard]] ControlRecord* find(JobId id) noexcept;
  /// The oldest that is queued; null if there is none.
  [[nodiscard]] ControlRecord* first_queued() noexcept {
    return queued_ == 0 ? nullptr : &records_[records_.size() - queued_];
  }
  /// @pre it is the one of `first_queued`
  void mark_written(ControlRecord& record) noexcept;
  /// @pre it was written
  void remove(ControlRecord& record) noexcept;
  /// The channel went.
  void queue_all() noexcept;

  /// Whether an update of the table is queued that has no place in the current channel yet.
  [[nodiscard]] bool waits_for_place(std::uint8_t table) const noexcept;
  /// The youngest record's; 0, that of nothing, if there is none.
  [[nodiscard]] JobId last_id() const noexcept {
    return records_.empty() ? JobId{} : records_.back().id;
  }
  /// Whether there is an update, this one or an older one, that the daemon has not answered.
  [[nodiscard]] bool has_unanswered(JobId last) const noexcept;

  /// Forgets what no job could have to run with again; what the oldest unfinished jobs need becomes
  /// the content of the tables. Visits every job. At most one reset and one answered update a table
  /// are left between two unfinished jobs of a pipeline.
  void compact(JobTable& jobs, ChannelTables& tables);

 private:
  std::deque<ControlRecord> records_;
  /// The last so many are queued.
  std::size_t queued_ = 0;
};

}  // namespace overlap
