#include "producer/control_log.hpp"

#include <algorithm>
#include <array>
#include <utility>

namespace overlap {
namespace {

bool is_update(const ControlRecord& record) noexcept {
  return record.opcode == Opcode::table_update;
}

}  // namespace

void ControlLog::add(ControlRecord record) {
  records_.push_back(std::move(record));
  ++queued_;
}

ControlRecord* ControlLog::find(JobId id) noexcept {
  const auto found = std::ranges::lower_bound(records_, id, {}, &ControlRecord::id);
  return found != records_.end() && found->id == id ? &*found : nullptr;
}

void ControlLog::mark_written(ControlRecord& record) noexcept {
  record.phase = ControlPhase::written;
  --queued_;
}

void ControlLog::remove(ControlRecord& record) noexcept {
  records_.erase(std::ranges::lower_bound(records_, record.id, {}, &ControlRecord::id));
}

void ControlLog::queue_all() noexcept {
  for (ControlRecord& record : records_) {
    record.phase = ControlPhase::queued;
    record.place.reset();
  }
  queued_ = records_.size();
}

bool ControlLog::waits_for_place(std::uint8_t table) const noexcept {
  return std::any_of(records_.end() - static_cast<std::ptrdiff_t>(queued_), records_.end(),
                     [&](const ControlRecord& record) {
                       return is_update(record) && record.table == table && !record.place;
                     });
}

bool ControlLog::has_unanswered(JobId last) const noexcept {
  return std::ranges::any_of(records_, [last](const ControlRecord& record) {
    return record.id <= last && is_update(record) && record.phase != ControlPhase::answered;
  });
}

void ControlLog::compact(JobTable& jobs, ChannelTables& tables) {
  std::array<std::uint64_t, kMaxPipelines> jobs_seen{};
  auto next = records_.begin();
  const auto count_up_to = [&](JobId end) {
    for (; next != records_.end() && next->id < end; ++next) {
      next->jobs_before = jobs_seen[next->pipeline_index];
    }
  };
  jobs.for_each_unfinished([&](const JobRecord& job) {
    count_up_to(job.id);
    ++jobs_seen[job.pipeline_index];
  });
  count_up_to(JobId{UINT64_MAX});

  std::vector<bool> settled(records_.size(), false);
  // What has another of its kind behind it, with no job between them, is nothing to anybody. An
  // update that may yet be refused is no such other.
  std::array<const ControlRecord*, kMaxPipelines> later_reset{};
  std::array<const ControlRecord*, kMaxTables> later_update{};
  for (std::size_t i = records_.size(); i > 0; --i) {
    const ControlRecord& record = records_[i - 1];
    const ControlRecord*& later =
        is_update(record) ? later_update[record.table] : later_reset[record.pipeline_index];
    const bool superseded = later != nullptr && later->jobs_before == record.jobs_before;
    if (!is_update(record)) {
      settled[i - 1] = superseded;
    } else if (record.phase == ControlPhase::answered) {
      settled[i - 1] = superseded && later->phase == ControlPhase::answered;
    }
    later = &record;
  }
  // What has no job before it needs no place among them: it is where the next channel begins.
  std::array<bool, kMaxTables> kept{};
  std::size_t left = 0;
  std::size_t queued = 0;
  for (std::size_t i = 0; i < records_.size(); ++i) {
    ControlRecord& record = records_[i];
    bool gone = settled[i];
    if (!gone && record.jobs_before == 0) {
      if (!is_update(record)) {
        gone = record.phase == ControlPhase::written;
      } else if (record.phase == ControlPhase::answered && !kept[record.table]) {
        tables.set_content(record.table, std::move(record.content));
        gone = true;
      }
    }
    if (gone) {
      continue;
    }
    kept[record.table] = kept[record.table] || is_update(record);
    queued += record.phase == ControlPhase::queued ? 1U : 0U;
    if (left != i) {
      records_[left] = std::move(record);
    }
    ++left;
  }
  records_.erase(records_.begin() + static_cast<std::ptrdiff_t>(left), records_.end());
  queued_ = queued;
}

}  // namespace overlap
