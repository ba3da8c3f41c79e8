#include "daemon/engine/channel.hpp"

#include "shared/file_descriptor.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace overlap {
namespace {

constexpr std::uint32_t kTakenTogether = 16;

}  // namespace

Channel::Channel(ChannelSetup setup)
    : setup_(std::move(setup)),
      submissions_(setup_.view),
      completions_(setup_.view),
      jobs_(setup_.view.geometry().slot_count),
      deadlines_ns_(setup_.view.geometry().slot_count),
      queue_(setup_.view.geometry().slot_count),
      completed_slots_(setup_.view.geometry().ring_capacity) {
  for (Pipeline& pipeline : setup_.pipelines) {
    pipelines_.push_back(std::make_shared<ServedPipeline>(std::move(pipeline)));
  }
  setup_.pipelines.clear();
}

void Channel::share_pipelines(PipelineTable& table) {
  for (auto& pipeline : pipelines_) {
    pipeline = table.share(std::move(pipeline));
  }
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
    step(jobs_[completed_slots_[collected_head_ & (completions_.capacity() - 1)]], SlotState::free);
  }
  uncollected_ = uncollected;
  return true;
}

std::uint32_t Channel::room() const noexcept {
  return completions_.capacity() - (queue_.size() + issued_count_ + uncollected_);
}

std::uint32_t Channel::take(std::uint32_t limit, std::uint64_t now_ns) {
  if (violation_ || closed_) {
    return 0;
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
  std::uint32_t count = 0;
  while (count < wanted && !violation_) {
    const auto group = std::span(entries).first(std::min(wanted - count, kTakenTogether));
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

void Channel::accept(const SubmissionEntry& entry, std::uint64_t now_ns) {
  if (entry.slot >= jobs_.size()) {
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

  if (entry.opcode != static_cast<std::uint8_t>(Opcode::job) ||
      (entry.flags & ~kKnownSubmissionFlags) != 0 || entry.pipeline_index >= pipelines_.size()) {
    end(job, {.status = JobStatus::request_refused}, now_ns);
    return;
  }
  const ChannelGeometry& geometry = setup_.view.geometry();
  if (job.input_bytes > geometry.input_bytes) {
    end(job, {.status = JobStatus::input_size_refused, .detail_value = detail_kib(job.input_bytes)},
        now_ns);
    return;
  }
  if (is_past_deadline(job, now_ns)) {
    end(job, {.status = JobStatus::deadline_passed}, now_ns);
    return;
  }
  if (job.input_bytes == 0) {
    end(job, {}, now_ns);
    return;
  }
  PlanCache::Entry& plan = pipelines_[job.pipeline_index]->acquire_plan(job.input_bytes);
  if (!plan.refusal.empty() || plan.plan.max_output_bytes > geometry.output_bytes) {
    const JobEnd refused = !plan.refusal.empty()
                               ? JobEnd{.status = JobStatus::input_size_refused,
                                        .detail_value = detail_kib(job.input_bytes)}
                               : JobEnd{.status = JobStatus::output_too_small,
                                        .detail_value = detail_kib(plan.plan.max_output_bytes)};
    PlanCache::release(plan);
    end(job, refused, now_ns);
    return;
  }
  job.plan = &plan;
  step(job, SlotState::queued);
  queue_.push_back(job.slot);
  queued_bytes_ += job.input_bytes;
}

void Channel::cancel(const SubmissionEntry& entry) noexcept {
  Job& job = jobs_[entry.slot];
  // Else too late, or for a job that the slot no longer holds: the job's own completion says how it
  // ended.
  if (job.state == SlotState::queued && job.job_id == entry.job_id) {
    job.cancelled = true;
  }
}

const Job* Channel::next_alive(std::uint64_t now_ns) {
  while (!queue_.empty()) {
    const Job& job = jobs_[queue_.front()];
    if (!job.cancelled && !is_past_deadline(job, now_ns)) {
      return &job;
    }
    const JobStatus status = job.cancelled ? JobStatus::cancelled : JobStatus::deadline_passed;
    end(dequeue(), {.status = status}, now_ns);
  }
  return nullptr;
}

Job& Channel::start(std::uint64_t now_ns) {
  Job& job = dequeue();
  mark_started(job, now_ns);
  ++issued_count_;
  return job;
}

void Channel::requeue(Job& job) {
  step(job, SlotState::queued);
  setup_.view.issued(job.slot).store(0, std::memory_order_release);
  --issued_count_;
  if (closed_) {
    PlanCache::release(*job.plan);
  } else {
    queue_.push_front(job.slot);
    queued_bytes_ += job.input_bytes;
  }
}

void Channel::finish(Job& job, const JobEnd& outcome, std::uint64_t now_ns) {
  setup_.view.issued(job.slot).store(0, std::memory_order_release);
  --issued_count_;
  end(job, outcome, now_ns);
}

inline void Channel::complete(Job& job, const JobEnd& outcome, std::uint64_t now_ns) noexcept {
  const bool late = outcome.status == JobStatus::ok && is_past_deadline(job, now_ns);
  CompletionEntry& entry = completions_.next();
  entry.job_id = job.job_id;
  entry.slot = job.slot;
  entry.status = static_cast<std::uint16_t>(outcome.status);
  entry.flags = late ? kCompletionLate : std::uint16_t{0};
  entry.output_bytes = outcome.output_bytes;
  entry.ready_ns = job.ready_ns;
  entry.taken_ns = job.taken_ns;
  entry.issued_ns = job.issued_ns;
  entry.done_ns = now_ns;
  entry.detail_code = outcome.detail_code;
  entry.detail_value = outcome.detail_value;
  completed_slots_[completions_.tail() & (completions_.capacity() - 1)] = job.slot;
  completions_.advance();
  step(job, SlotState::completed);
}

void Channel::finish_run(std::span<Job* const> jobs, std::uint64_t now_ns) {
  PlanCache::Entry& plan = *jobs.front()->plan;
  const JobEnd outcome{.output_bytes = plan.plan.max_output_bytes};
  for (Job* const job : jobs) {
    setup_.view.issued(job->slot).store(0, std::memory_order_release);
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
  queue_.for_each([this](std::uint32_t slot) { PlanCache::release(*jobs_[slot].plan); });
  queue_.clear();
  queued_bytes_ = 0;
}

}  // namespace overlap
