// How a channel takes what its producer has submitted, and what it refuses of that.

#include "daemon/engine/channel.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <span>

namespace overlap {
namespace {

constexpr std::uint32_t kTakenTogether = 16;
/// As cudaErrorMemoryAllocation.
constexpr std::uint32_t kOutOfMemory = 2;

/// Whether a job's stages keep no more than there is room for: a kernel from elsewhere may want more
/// for a smaller input.
bool keeps_no_more(const PipelinePlan& plan, const std::vector<StageState>& states) noexcept {
  for (std::size_t i = 0; i < states.size(); ++i) {
    if (plan.stages[i].state_bytes > states[i].bytes) {
      return false;
    }
  }
  return true;
}

}  // namespace

std::uint32_t Channel::take(std::uint32_t limit, std::uint64_t now_ns) {
  if (violation_ || closed_) {
    return 0;
  }
  if (held_update_) {
    if (!start_update(*held_update_, now_ns)) {
      return 0;
    }
    held_update_.reset();
  }
  const std::uint32_t available = submissions_.available();
  if (available == 0) {
    return 0;
  }
  if (available > submissions_.capacity()) {
    break_off("the submission ring's tail is " + std::to_string(available) +
              " entries ahead of a ring of " + std::to_string(submissions_.capacity()));
    return 0;
  }
  if (!collect()) {
    return 0;
  }
  const std::uint32_t wanted = std::min({limit, available, room()});
  std::array<SubmissionEntry, kTakenTogether> entries;
  // An update may have to wait, and what lies behind it with it.
  const std::uint32_t together = job_tables_.empty() ? kTakenTogether : 1;
  std::uint32_t count = 0;
  while (count < wanted && !violation_ && !held_update_) {
    const auto group = std::span(entries).first(std::min(wanted - count, together));
    submissions_.take_many(group);
    for (const SubmissionEntry& entry : group) {
      if (!violation_) {
        accept(entry, now_ns);
        ++count;
      }
    }
  }
  submissions_.release();
  return count;
}

bool Channel::collect() {
  const std::uint32_t uncollected = completions_.uncollected();
  // The head may not move back either, nor past what was written.
  const std::uint32_t head = completions_.tail() - uncollected;
  if (uncollected > completions_.capacity() || head - collected_head_ > uncollected_) {
    break_off("the completion ring's head is not between the last head and the tail");
    return false;
  }
  for (; collected_head_ != head; ++collected_head_) {
    const std::uint32_t slot = completed_slots_[collected_head_ & (completions_.capacity() - 1)];
    if (slot != kNoSlot) {
      step(jobs_[slot], SlotState::free);
    }
  }
  uncollected_ = uncollected;
  return true;
}

std::uint32_t Channel::room() const noexcept {
  return completions_.capacity() - (queue_.size() + issued_count_ + update_count_ + uncollected_);
}

void Channel::accept(const SubmissionEntry& entry, std::uint64_t now_ns) {
  if (entry.slot >= jobs_.size()) {
    if (accept_control(entry, now_ns)) {
      return;
    }
    break_off("a submission names slot " + std::to_string(entry.slot) + " of " +
              std::to_string(jobs_.size()));
    return;
  }
  if (entry.opcode == static_cast<std::uint8_t>(Opcode::cancel)) {
    cancel(entry);
    return;
  }
  Job& job = jobs_[entry.slot];
  if (job.state != SlotState::free) {
    break_off("a submission names slot " + std::to_string(entry.slot) +
              ", which is in flight or has a completion that was not collected");
    return;
  }
  accept_job(job, entry, now_ns);
}

bool Channel::accept_control(const SubmissionEntry& entry, std::uint64_t now_ns) {
  if (entry.slot != kNoSlot || (entry.opcode != static_cast<std::uint8_t>(Opcode::table_update) &&
                                entry.opcode != static_cast<std::uint8_t>(Opcode::reset_state))) {
    return false;
  }
  if (entry.opcode == static_cast<std::uint8_t>(Opcode::table_update)) {
    update_table(entry, now_ns);
  } else if (entry.pipeline_index >= pipelines_.size()) {
    break_off("a reset names pipeline " + std::to_string(entry.pipeline_index) + " of " +
              std::to_string(pipelines_.size()));
  } else {
    pipelines_[entry.pipeline_index].history.reset();
  }
  return true;
}

void Channel::accept_job(Job& job, const SubmissionEntry& entry, std::uint64_t now_ns) {
  job.job_id = entry.job_id;
  job.input_bytes = entry.input_bytes;
  job.has_deadline = entry.deadline_ns != 0;
  if (job.has_deadline) {
    deadlines_ns_[entry.slot] = entry.deadline_ns;
  }
  job.ready_ns = std::min(entry.ready_ns, now_ns);
  job.taken_ns = now_ns;
  job.issued_ns = 0;
  job.plan = nullptr;
  job.slot = entry.slot;
  job.pipeline_index = entry.pipeline_index;
  job.isolate = (entry.flags & kSubmissionIsolate) != 0;
  job.retried = false;
  job.cancelled = false;
  job.has_parameters = false;
  job.fresh = false;
  job.discontinuity = false;

  if (entry.opcode != static_cast<std::uint8_t>(Opcode::job) ||
      (entry.flags & ~kKnownSubmissionFlags) != 0 || entry.pipeline_index >= pipelines_.size()) {
    refuse(job, {.status = JobStatus::request_refused}, now_ns);
    return;
  }
  const ChannelGeometry& geometry = setup_.view.geometry();
  if (job.input_bytes > geometry.input_bytes) {
    refuse(job,
           {.status = JobStatus::input_size_refused, .detail_value = detail_kib(job.input_bytes)},
           now_ns);
    return;
  }
  if (is_past_deadline(job, now_ns)) {
    refuse(job, {.status = JobStatus::deadline_passed}, now_ns);
    return;
  }
  if (job.input_bytes == 0) {
    end(job, {}, now_ns);
    return;
  }
  ChannelPipeline& pipeline = pipelines_[job.pipeline_index];
  PlanCache::Entry& plan = pipeline.served->acquire_plan(job.input_bytes);
  const bool fits = plan.refusal.empty() && keeps_no_more(plan.plan, pipeline.states);
  if (!fits || plan.plan.max_output_bytes > geometry.output_bytes) {
    const JobEnd refused = !fits ? JobEnd{.status = JobStatus::input_size_refused,
                                          .detail_value = detail_kib(job.input_bytes)}
                                 : JobEnd{.status = JobStatus::output_too_small,
                                          .detail_value = detail_kib(plan.plan.max_output_bytes)};
    PlanCache::release(plan);
    refuse(job, refused, now_ns);
    return;
  }
  const bool has_extras = !pipeline.is_plain || (entry.flags & kSubmissionParameters) != 0;
  if (has_extras && !accept_extras(job, entry, now_ns)) {
    PlanCache::release(plan);
    return;
  }
  job.plan = &plan;
  step(job, SlotState::queued);
  queue_.push_back(job.slot);
  queued_bytes_ += job.input_bytes;
}

bool Channel::accept_extras(Job& job, const SubmissionEntry& entry, std::uint64_t now_ns) {
  ChannelPipeline& pipeline = pipelines_[job.pipeline_index];
  if ((entry.flags & kSubmissionParameters) != 0) {
    const auto brought = read_job_parameters(entry, *pipeline.served->stages().front().kernel,
                                             pipeline.served->per_job());
    if (!brought) {
      refuse(job, {.status = JobStatus::request_refused}, now_ns);
      return false;
    }
    job_parameters_[job.slot] = *brought;
    job.has_parameters = true;
  }
  if (pipeline.tables != nullptr) {
    for (std::size_t i = 0; i < pipeline.tables->size(); ++i) {
      const Stage& stage = pipeline.served->stages()[i];
      if ((*pipeline.tables)[i] == nullptr && stage.kernel->table_bytes(stage.params) != 0) {
        refuse(job, {.status = JobStatus::kernel_failed, .detail_code = kOutOfMemory}, now_ns);
        return false;
      }
    }
    job_tables_[job.slot] = pipeline.tables;
  }
  if (pipeline.served->is_stateful()) {
    for (const StageState& state : pipeline.states) {
      if (state.bytes != 0 && state.memory.data() == nullptr) {
        refuse(job, {.status = JobStatus::kernel_failed, .detail_code = kOutOfMemory}, now_ns);
        return false;
      }
    }
    const History::Mark mark = pipeline.history.on_taken();
    job.fresh = mark.fresh;
    job.discontinuity = mark.discontinuity;
  }
  return true;
}

void Channel::refuse(Job& job, const JobEnd& outcome, std::uint64_t now_ns) {
  if (job.pipeline_index < pipelines_.size()) {
    pipelines_[job.pipeline_index].history.lose_before_taken();
  }
  end(job, outcome, now_ns);
}

void Channel::cancel(const SubmissionEntry& entry) noexcept {
  Job& job = jobs_[entry.slot];
  // Else too late, or for a job that the slot no longer holds: the job's own completion says how it
  // ended.
  if (job.state == SlotState::queued && job.job_id == entry.job_id) {
    job.cancelled = true;
  }
}

void Channel::update_table(const SubmissionEntry& entry, std::uint64_t now_ns) {
  TableUpdate update{};
  std::memcpy(&update, entry.params, sizeof update);
  const std::uint64_t region_bytes = setup_.view.geometry().table_bytes;
  ++update_count_;
  if (entry.pipeline_index >= pipelines_.size() || entry.flags != 0 ||
      update.stage_index >= pipelines_[entry.pipeline_index].served->stages().size()) {
    finish_update(entry.job_id, {.status = JobStatus::request_refused}, now_ns);
    return;
  }
  ChannelPipeline& pipeline = pipelines_[entry.pipeline_index];
  const Stage& stage = pipeline.served->stages()[update.stage_index];
  const std::uint64_t wanted_bytes = stage.kernel->table_bytes(stage.params);
  if (wanted_bytes == 0 || entry.input_bytes != wanted_bytes || wanted_bytes > region_bytes ||
      update.offset_bytes > region_bytes - wanted_bytes ||
      update.offset_bytes % kSmallStrideBytes != 0) {
    finish_update(entry.job_id, {.status = JobStatus::request_refused}, now_ns);
    return;
  }
  if (!start_update(entry, now_ns)) {
    held_update_ = entry;
  }
}

bool Channel::start_update(const SubmissionEntry& entry, std::uint64_t now_ns) {
  if (!has_room_for_table(entry.input_bytes)) {
    return false;
  }
  TableUpdate update{};
  std::memcpy(&update, entry.params, sizeof update);
  auto uploaded = upload({.offset_bytes = update.offset_bytes,
                          .bytes = entry.input_bytes,
                          .pipeline_index = entry.pipeline_index,
                          .stage_index = static_cast<std::uint8_t>(update.stage_index),
                          .reserved_0 = 0,
                          .reserved_1 = 0},
                         {TableUploads::Purpose::Kind::update, entry.job_id});
  if (uploaded != nullptr) {
    ChannelPipeline& pipeline = pipelines_[entry.pipeline_index];
    auto tables = std::make_shared<TableSet>(*pipeline.tables);
    (*tables)[update.stage_index] = std::move(uploaded);
    pipeline.tables = std::move(tables);
  } else if (uploads_ == nullptr || !uploads_->lost_code()) {
    // On a lost device it stays unanswered: the producer brings it to the next daemon.
    finish_update(entry.job_id, {.status = JobStatus::request_refused, .detail_code = kOutOfMemory},
                  now_ns);
  }
  return true;
}

std::shared_ptr<UploadedTable> Channel::upload(const TableEntry& entry,
                                               TableUploads::Purpose purpose) {
  if (uploads_ == nullptr) {
    return nullptr;
  }
  const ChannelGeometry& geometry = setup_.view.geometry();
  auto uploaded = uploads_->start({this, reinterpret_cast<std::byte*>(&setup_.view.header()),
                                   geometry.tables_offset_bytes + entry.offset_bytes, entry.bytes,
                                   &setup_.pinning.tables, purpose});
  if (uploaded != nullptr) {
    live_tables_.push_back(uploaded);
  }
  return uploaded;
}

bool Channel::has_room_for_table(std::uint64_t bytes) {
  std::erase_if(live_tables_, [](const auto& table) { return table.expired(); });
  std::uint64_t live_bytes = 0;
  for (const auto& live : live_tables_) {
    const auto table = live.lock();
    live_bytes += table != nullptr ? table->bytes : 0;
  }
  return live_tables_.size() < setup_.tables.size() + kMaxUpdatedTables &&
         live_bytes + bytes <= largest_table_memory(setup_.tables);
}

}  // namespace overlap
