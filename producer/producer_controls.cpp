#include "producer/producer_core.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace overlap {
namespace {

std::string table_name(std::uint8_t pipeline_index, std::uint8_t stage_index) {
  return "the table of pipeline " + std::to_string(pipeline_index) + ", stage " +
         std::to_string(stage_index);
}

}  // namespace

void ProducerCore::update_table(std::uint8_t pipeline_index, std::uint8_t stage_index,
                                std::span<const std::byte> bytes) {
  const auto table = tables_.find(pipeline_index, stage_index);
  if (!table) {
    throw InvalidSubmission(table_name(pipeline_index, stage_index) +
                            " does not exist; give ProducerOptions::tables one to begin with");
  }
  ControlRecord update;
  update.opcode = Opcode::table_update;
  update.pipeline_index = pipeline_index;
  update.table = *table;
  // Kept: a job that has to run again may need it, and the caller's bytes are the caller's.
  update.content.assign(bytes.begin(), bytes.end());
  Lock lock(mutex_);
  collect();
  raise_if_table_refused();
  if (bytes.size() != tables_.bytes(*table)) {
    throw InvalidSubmission(table_name(pipeline_index, stage_index) + " has " +
                            std::to_string(tables_.bytes(*table)) + " bytes, the new one " +
                            std::to_string(bytes.size()) +
                            "; a table keeps the size that it was attached with");
  }
  for (;;) {
    const std::uint8_t place = await_place(lock, *table);
    const std::shared_ptr<ChannelConnection> connection = connection_;
    lock.unlock();
    // Unlocked, for tables can be large; the place was taken for this very update.
    std::ranges::copy(update.content,
                      connection->view().tables().begin() +
                          static_cast<std::ptrdiff_t>(tables_.offset_bytes(*table, place)));
    lock.lock();
    raise_if_failed();
    // In another channel all places are free again, this one too.
    if (state_ == State::live && connection == connection_) {
      update.place = place;
      break;
    }
  }
  controls_.compact(jobs_, tables_);
  submit_control(std::move(update));
  ++counters_.table_updates;
}

std::uint8_t ProducerCore::await_place(Lock& lock, std::uint8_t table) {
  std::optional<std::uint8_t> place;
  wait_until(lock, kNoDeadline, [&] {
    // Older updates that a resume has to repeat get theirs first: they are first in the ring.
    if (state_ == State::live && !controls_.waits_for_place(table)) {
      place = tables_.take_place(table);
    }
    return place.has_value();
  });
  return *place;
}

void ProducerCore::settle_tables() {
  Lock lock(mutex_);
  // Not those that others submit meanwhile: there might be no end to them.
  const JobId last = controls_.last_id();
  wait_until(lock, kNoDeadline, [this, last] { return !controls_.has_unanswered(last); });
  raise_if_table_refused();
}

void ProducerCore::reset_state(std::uint8_t pipeline_index) {
  if (pipeline_index >= options_.pipelines.size()) {
    throw InvalidSubmission("pipeline_index is " + std::to_string(pipeline_index) +
                            ", the channel has " + std::to_string(options_.pipelines.size()) +
                            "; name one of those that were attached");
  }
  const Lock lock(mutex_);
  collect();
  raise_if_failed();
  if (!connection_->abilities().is_stateful(pipeline_index)) {
    return;
  }
  if (controls_.size() >= compact_at_ && state_ == State::live) {
    compact_controls();
  }
  ControlRecord reset;
  reset.opcode = Opcode::reset_state;
  reset.pipeline_index = pipeline_index;
  submit_control(std::move(reset));
}

void ProducerCore::compact_controls() {
  controls_.compact(jobs_, tables_);
  // At twice the size, so that a reset costs the same however many are remembered.
  compact_at_ = std::max(2 * controls_.size(), kLeastCompactedControls);
}

void ProducerCore::submit_control(ControlRecord record) {
  record.id = jobs_.take_id();
  controls_.add(std::move(record));
  if (state_ != State::live) {
    return;
  }
  entries_queued_ = true;
  pursue_backlog();
}

bool ProducerCore::write_control(ControlRecord& record) {
  SubmissionEntry entry{};
  entry.job_id = job_number(record.id);
  entry.slot = kNoSlot;
  entry.opcode = static_cast<std::uint8_t>(record.opcode);
  entry.pipeline_index = record.pipeline_index;
  entry.ready_ns = monotonic_now_ns();
  if (record.opcode == Opcode::table_update) {
    // The daemon takes nothing that it would have no room to answer. Every job may need a place of
    // its own; answers that nobody collects must leave it that.
    if (updates_out_ >= room_beside_jobs()) {
      return false;
    }
    if (!record.place) {
      // Only after a resume; else the content was written before the update was queued.
      record.place = tables_.take_place(record.table);
      if (!record.place) {
        return false;
      }
      std::ranges::copy(record.content, connection_->view().tables().begin() +
                                            static_cast<std::ptrdiff_t>(
                                                tables_.offset_bytes(record.table, *record.place)));
    }
    TableUpdate update{};
    update.offset_bytes = tables_.offset_bytes(record.table, *record.place);
    update.stage_index = tables_.stage_index(record.table);
    std::memcpy(entry.params, &update, sizeof update);
    entry.input_bytes = record.content.size();
  } else if (!connection_->abilities().is_stateful(record.pipeline_index)) {
    // A daemon that came later has nothing there to reset.
    controls_.mark_written(record);
    return true;
  }
  if (!write_beside_jobs(entry)) {
    return false;
  }
  updates_out_ += record.opcode == Opcode::table_update ? 1U : 0U;
  controls_.mark_written(record);
  return true;
}

bool ProducerCore::accept_update_answer(const CompletionEntry& entry) {
  ControlRecord* const record = controls_.find(JobId{entry.job_id});
  if (record == nullptr || record->opcode != Opcode::table_update ||
      record->phase != ControlPhase::written) {
    return false;
  }
  const auto status = static_cast<JobStatus>(entry.status);
  if (status != JobStatus::ok && status != JobStatus::request_refused) {
    return false;
  }
  --updates_out_;
  tables_.free_place(record->table, *record->place);
  record->place.reset();
  if (status == JobStatus::ok) {
    record->phase = ControlPhase::answered;
    return true;
  }
  ++counters_.table_updates_refused;
  if (!table_refusal_) {
    const std::uint8_t stage_index = tables_.stage_index(record->table);
    table_refusal_.emplace(record->pipeline_index, stage_index,
                           "the daemon refused an update of " +
                               table_name(record->pipeline_index, stage_index) +
                               ": jobs behind it ran with the table before; its log says why");
  }
  controls_.remove(*record);
  return true;
}

void ProducerCore::raise_if_table_refused() {
  if (table_refusal_) {
    const TableRefused refusal = *std::exchange(table_refusal_, std::nullopt);
    throw refusal;
  }
}

}  // namespace overlap
