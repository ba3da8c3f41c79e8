#include "daemon/engine/channel.hpp"

#include "shared/file_descriptor.hpp"

#include <algorithm>
#include <span>

namespace overlap {
namespace {

/// What the stages of a stateful pipeline keep for jobs of up to an input area.
std::vector<StageState> states_for(const Pipeline& pipeline, std::uint64_t input_bytes) {
  std::vector<StageState> states(pipeline.stages().size());
  const auto planned = pipeline.plan(pipeline.largest_input_bytes(input_bytes));
  if (const auto* const plan = std::get_if<PipelinePlan>(&planned)) {
    for (std::size_t i = 0; i < states.size(); ++i) {
      states[i].bytes = plan->stages[i].state_bytes;
    }
  }
  return states;
}

}  // namespace

Channel::Channel(ChannelSetup setup)
    : setup_(std::move(setup)),
      submissions_(setup_.view),
      completions_(setup_.view),
      jobs_(setup_.view.geometry().slot_count),
      deadlines_ns_(setup_.view.geometry().slot_count),
      queue_(setup_.view.geometry().slot_count),
      completed_slots_(setup_.view.geometry().ring_capacity) {
  const ChannelGeometry& geometry = setup_.view.geometry();
  for (Pipeline& pipeline : setup_.pipelines) {
    ChannelPipeline kept;
    kept.served = std::make_shared<ServedPipeline>(std::move(pipeline));
    if (kept.served->is_stateful()) {
      kept.states = states_for(kept.served->pipeline(), geometry.input_bytes);
      kept.history.reset();
      if (setup_.history_lost) {
        kept.history.lose_before_taken();
      }
    }
    if (kept.served->takes_tables()) {
      kept.tables = std::make_shared<const TableSet>(kept.served->stages().size());
      job_tables_.resize(geometry.slot_count);
    }
    if (!kept.served->per_job().empty()) {
      job_parameters_.resize(geometry.slot_count);
    }
    kept.is_plain = kept.states.empty() && kept.tables == nullptr;
    pipelines_.push_back(std::move(kept));
  }
  setup_.pipelines.clear();
}

void Channel::join(PipelineTable& table, Device& device, TableUploads& uploads) {
  uploads_ = &uploads;
  for (ChannelPipeline& pipeline : pipelines_) {
    pipeline.served = table.share(std::move(pipeline.served), setup_.priority);
    for (StageState& state : pipeline.states) {
      if (state.bytes != 0) {
        state.memory = DeviceMemory(device, DeviceMemory::Kind::buffer, state.bytes);
      }
    }
  }
  for (const TableEntry& entry : setup_.tables) {
    ChannelPipeline& pipeline = pipelines_[entry.pipeline_index];
    auto tables = std::make_shared<TableSet>(*pipeline.tables);
    (*tables)[entry.stage_index] = upload(entry, {TableUploads::Purpose::Kind::attach});
    first_table_count_ += (*tables)[entry.stage_index] != nullptr ? 1 : 0;
    pipeline.tables = std::move(tables);
  }
}

void Channel::on_uploaded(const TableUploads::Purpose& purpose, std::uint64_t now_ns) {
  if (purpose.kind == TableUploads::Purpose::Kind::attach) {
    --first_table_count_;
  } else if (purpose.kind == TableUploads::Purpose::Kind::update) {
    finish_update(purpose.update_id, {}, now_ns);
  }
}

void Channel::finish_update(std::uint64_t job_id, const JobEnd& end, std::uint64_t now_ns) {
  Job answered;
  answered.job_id = job_id;
  answered.slot = kNoSlot;
  answered.taken_ns = now_ns;
  write_completion(answered, end, 0, now_ns);
  --update_count_;
  ++uncollected_;
  unpublished_ = true;
}

const Job* Channel::next_alive(std::uint64_t now_ns) {
  while (!queue_.empty()) {
    const Job& job = jobs_[queue_.front()];
    if (!job.cancelled && !is_past_deadline(job, now_ns)) {
      return &job;
    }
    const JobStatus status = job.cancelled ? JobStatus::cancelled : JobStatus::deadline_passed;
    pipelines_[job.pipeline_index].history.lose_before_started();
    end(dequeue(), {.status = status}, now_ns);
  }
  return nullptr;
}

Job& Channel::start(std::uint64_t now_ns) {
  Job& job = dequeue();
  mark_started(job, now_ns);
  if (ChannelPipeline& pipeline = pipelines_[job.pipeline_index]; pipeline.served->is_stateful()) {
    const History::Mark mark = pipeline.history.on_started();
    job.fresh = job.fresh || mark.fresh;
    job.discontinuity = job.discontinuity || mark.discontinuity;
  }
  ++issued_count_;
  return job;
}

void Channel::requeue(Job& job) {
  step(job, SlotState::queued);
  setup_.view.issued(job.slot).store(0, std::memory_order_release);
  --issued_count_;
  if (closed_) {
    PlanCache::release(*job.plan);
    if (!job_tables_.empty()) {
      job_tables_[job.slot].reset();
    }
  } else {
    queue_.push_front(job.slot);
    queued_bytes_ += job.input_bytes;
  }
}

void Channel::finish(Job& job, const JobEnd& outcome, std::uint64_t now_ns) {
  setup_.view.issued(job.slot).store(0, std::memory_order_release);
  --issued_count_;
  ChannelPipeline& pipeline = pipelines_[job.pipeline_index];
  if (!pipeline.served->is_stateful()) {
    end(job, outcome, now_ns);
    return;
  }
  const bool means_something = pipeline.history.on_ended(job.fresh);
  if (outcome.status != JobStatus::ok || !means_something) {
    pipeline.history.lose_before_ended();
    if (pipeline.served->stages().size() > 1) {
      // The stages behind the one that failed it have taken in whatever lay there.
      pipeline.history.spoil();
    }
    end(job, outcome.status != JobStatus::ok ? outcome : JobEnd{.status = JobStatus::kernel_failed},
        now_ns);
    return;
  }
  job.discontinuity = pipeline.history.on_result() || job.discontinuity;
  end(job, outcome, now_ns);
}

inline void Channel::complete(Job& job, const JobEnd& outcome, std::uint64_t now_ns) noexcept {
  std::uint16_t flags = 0;
  if (outcome.status == JobStatus::ok) {
    flags = is_past_deadline(job, now_ns) ? kCompletionLate : flags;
    flags |= job.discontinuity ? kCompletionDiscontinuity : std::uint16_t{0};
  }
  write_completion(job, outcome, flags, now_ns);
  step(job, SlotState::completed);
}

inline void Channel::write_completion(const Job& job, const JobEnd& outcome, std::uint16_t flags,
                                      std::uint64_t now_ns) noexcept {
  CompletionEntry& entry = completions_.next();
  entry.job_id = job.job_id;
  entry.slot = job.slot;
  entry.status = static_cast<std::uint16_t>(outcome.status);
  entry.flags = flags;
  entry.output_bytes = outcome.output_bytes;
  entry.ready_ns = job.ready_ns;
  entry.taken_ns = job.taken_ns;
  entry.issued_ns = job.issued_ns;
  entry.done_ns = now_ns;
  entry.detail_code = outcome.detail_code;
  entry.detail_value = outcome.detail_value;
  completed_slots_[completions_.tail() & (completions_.capacity() - 1)] = job.slot;
  completions_.advance();
}

void Channel::finish_run(std::span<Job* const> jobs, std::uint64_t now_ns) {
  PlanCache::Entry& plan = *jobs.front()->plan;
  const JobEnd outcome{.output_bytes = plan.plan.max_output_bytes};
  for (Job* const job : jobs) {
    setup_.view.issued(job->slot).store(0, std::memory_order_release);
    if (!job_tables_.empty()) {
      job_tables_[job->slot].reset();
    }
    complete(*job, outcome, now_ns);
  }
  const auto count = static_cast<std::uint32_t>(jobs.size());
  PlanCache::release(plan, count);
  issued_count_ -= count;
  uncollected_ += count;
  unpublished_ = true;
  counters_.jobs_done += count;
  counters_.input_bytes += count * plan.input_bytes;
  counters_.output_bytes += count * outcome.output_bytes;
}

void Channel::end(Job& job, const JobEnd& outcome, std::uint64_t now_ns) {
  if (job.plan != nullptr) {
    PlanCache::release(*job.plan);
  }
  if (!job_tables_.empty()) {
    job_tables_[job.slot].reset();
  }
  complete(job, outcome, now_ns);
  ++uncollected_;
  unpublished_ = true;
  if (outcome.status == JobStatus::ok) {
    ++counters_.jobs_done;
    counters_.input_bytes += job.input_bytes;
    counters_.output_bytes += outcome.output_bytes;
  } else {
    ++counters_.jobs_failed;
  }
}

bool Channel::publish() {
  if (!unpublished_) {
    return false;
  }
  unpublished_ = false;
  switch (completions_.publish()) {
    case WaitKind::none:
      return true;
    case WaitKind::semaphore:
      try {
        setup_.view.semaphore().post();
      } catch (const boost::interprocess::interprocess_exception&) {
        // The count is at its limit, by a hostile hand: whoever waits is awake already.
      }
      break;
    case WaitKind::descriptor:
      ring(setup_.wake);
      break;
  }
  ++counters_.wakes;
  return true;
}

void Channel::close() {
  closed_ = true;
  queue_.for_each([this](std::uint32_t slot) {
    PlanCache::release(*jobs_[slot].plan);
    if (!job_tables_.empty()) {
      job_tables_[slot].reset();
    }
  });
  queue_.clear();
  queued_bytes_ = 0;
}

}  // namespace overlap
