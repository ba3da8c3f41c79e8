#include "producer/producer_core.hpp"

#include "shared/byte_size.hpp"

#include <sys/socket.h>
#include <algorithm>
#include <string>
#include <thread>
#include <utility>

namespace overlap {
namespace {

constexpr std::uint64_t kDefaultSpinNs = 20'000;

std::uint64_t spin_time_ns(const ProducerOptions& options) {
  if (options.spin) {
    return static_cast<std::uint64_t>(std::max<std::int64_t>(options.spin->count(), 0));
  }
  // With two hardware threads or fewer, polling takes away the one that the daemon needs.
  return std::thread::hardware_concurrency() <= 2 ? 0 : kDefaultSpinNs;
}

AttachGoal attach_plan(const ProducerOptions& options, const ChannelTables& tables) {
  if (options.pipelines.empty()) {
    throw InvalidSubmission(
        "a channel needs at least one pipeline; name one, for example \"scale:a=2,b=1\"");
  }
  AttachGoal plan;
  plan.path = client_socket_path(options.socket_path, SocketEnvironment::of_this_process());
  plan.geometry = {options.slot_count, options.input_bytes, options.output_bytes,
                   tables.region_bytes()};
  plan.pipelines = options.pipelines;
  plan.tables = &tables;
  plan.priority = options.priority;
  plan.weight = options.weight;
  plan.step_timeout = options.attach_timeout;
  return plan;
}

}  // namespace

ProducerCore::ProducerCore(ProducerOptions options)
    : options_(std::move(options)),
      spin_ns_(spin_time_ns(options_)),
      tables_(std::move(options_.tables), options_.pipelines.size()),
      plan_(attach_plan(options_, tables_)),
      connection_(attach_channel(plan_)),
      writer_(connection_->view()),
      reader_(connection_->view()),
      slots_(connection_.get(), connection_->geometry().slot_count) {
  // The next daemon is asked for the same channel, not for what it would choose.
  plan_.geometry.output_bytes = connection_->geometry().output_bytes;
  plan_.stop_descriptor = watcher_.stop_descriptor();
}

void ProducerCore::start() {
  watcher_.start({[this] { return connection_->socket().get(); }, [this] { serve_socket(); },
                  [this] { on_alarm(); }});
  const Lock lock(mutex_);
  self_ = shared_from_this();
}

void ProducerCore::stop() noexcept {
  {
    const Lock lock(mutex_);
    if (std::exchange(stopped_, true)) {
      return;
    }
    fail({ChannelFailure::Kind::gone, "the Producer was destroyed", CloseReason::none, {}});
  }
  watcher_.stop();
  Leavings leavings;
  const Lock lock(mutex_);
  poll_.close();
  connection_->hang_up();
  if (handles_ == 0) {
    leavings.core = std::move(self_);
  }
}

void ProducerCore::validate(std::span<const Submission> submissions) const {
  for (const Submission& submission : submissions) {
    const SlotHold& hold = submission.slot.hold();
    if (!hold) {
      throw InvalidSubmission(
          "the slot handle is empty: it was moved from, submitted or released; acquire a slot");
    }
    if (hold.core() != this) {
      throw InvalidSubmission("the slot belongs to another Producer; submit it there");
    }
    const std::uint64_t capacity_bytes = hold.connection().geometry().input_bytes;
    const SubmitOptions& options = submission.options;
    if (options.input_bytes && *options.input_bytes > capacity_bytes) {
      throw InvalidSubmission("input_bytes is " + std::to_string(*options.input_bytes) +
                              ", the slot's input area has " + std::to_string(capacity_bytes) +
                              "; attach with larger slots or submit less");
    }
    if (options.pipeline_index >= options_.pipelines.size()) {
      throw InvalidSubmission("pipeline_index is " + std::to_string(options.pipeline_index) +
                              ", the channel has " + std::to_string(options_.pipelines.size()) +
                              "; name one of those that were attached");
    }
  }
}

DeclaredJobParameters ProducerCore::declared_parameters(
    std::uint8_t pipeline_index) const noexcept {
  return connection_->abilities().job_parameters[pipeline_index];
}

void ProducerCore::check_parameters(std::span<const Submission> submissions) const {
  const bool known = (connection_->abilities().features & kFeatureJobParameters) != 0;
  for (const Submission& submission : submissions) {
    if (!submission.options.params.empty()) {
      if (!known) {
        throw InvalidSubmission(
            "the job brings parameters, but the daemon is older than those and takes none from any "
            "job; update overlapd, or give them in the pipeline's text");
      }
      static_cast<void>(encode_parameters(submission.options.params,
                                          declared_parameters(submission.options.pipeline_index)));
    }
  }
}

void ProducerCore::submit(std::span<Submission> submissions, std::span<JobId> ids) {
  validate(submissions);
  Leavings leavings;
  Lock lock(mutex_);
  bring_to_current_channel(lock, submissions, leavings);
  raise_if_failed();
  check_parameters(submissions);
  // From here on nothing fails: all or nothing.
  jobs_.reserve(submissions.size());
  const std::uint64_t now_ns = monotonic_now_ns();
  for (std::size_t i = 0; i < submissions.size(); ++i) {
    SlotHold& hold = submissions[i].slot.hold();
    const SubmitOptions& options = submissions[i].options;
    JobRecord& job = jobs_.add();
    job.tag = submissions[i].tag;
    job.connection = &hold.connection();
    job.slot = hold.index();
    job.pipeline_index = options.pipeline_index;
    job.input_bytes = options.input_bytes.value_or(job.connection->geometry().input_bytes);
    job.deadline_ns = options.deadline_ns;
    job.ready_ns = now_ns;
    if (!options.params.empty()) {
      const EncodedParameters encoded =
          encode_parameters(options.params, declared_parameters(options.pipeline_index));
      job.parameter_flags = encoded.flags;
      job.parameters = encoded.bytes;
    }
    if (state_ == State::live) {
      slots_.submit(hold.key());
    } else {
      // It is given a place in the next channel when it is submitted there.
      slots_.give_back(hold.key());
    }
    // The job is the memory's user now.
    hold.forget();
    ids[i] = job.id;
    if (state_ == State::live && !entries_queued_ && !write_job(job)) {
      entries_queued_ = true;
    }
  }
  handles_ -= submissions.size();
  counters_.jobs_submitted += submissions.size();
  publish();
  if (has_backlog()) {
    pursue_backlog();
  }
}

bool ProducerCore::write_job(JobRecord& job) {
  SubmissionEntry entry{};
  entry.job_id = job_number(job.id);
  entry.slot = job.slot;
  entry.opcode = static_cast<std::uint8_t>(Opcode::job);
  entry.pipeline_index = job.pipeline_index;
  entry.flags = job.isolated() ? kSubmissionIsolate : std::uint16_t{0};
  entry.input_bytes = job.input_bytes;
  entry.deadline_ns = job.deadline_ns;
  entry.ready_ns = job.ready_ns;
  if (job.parameter_flags != 0) {
    entry.flags |= job.parameter_flags;
    std::ranges::copy(job.parameters, entry.params);
  }
  // With at most one job a slot, and what is no job kept to the other half, there is room, but the
  // daemon may publish a completion a moment before it gives the places of what it took back.
  if (!writer_.write(entry)) {
    return false;
  }
  ++entries_written_;
  jobs_.mark_submitted(job);
  job.cancel_written = false;
  if (job.cancel_wanted) {
    cancel_soon(job);
  }
  return true;
}

std::size_t ProducerCore::room_beside_jobs() const noexcept {
  const ChannelGeometry& geometry = connection_->geometry();
  return geometry.ring_capacity - geometry.slot_count;
}

bool ProducerCore::write_beside_jobs(const SubmissionEntry& entry) {
  // Acquire 'submissions taken', as the writer does.
  const std::uint32_t taken =
      connection_->view().daemon_words().submission_head.load(std::memory_order_acquire);
  while (!control_positions_.empty() &&
         static_cast<std::int32_t>(taken - control_positions_.front()) > 0) {
    control_positions_.pop_front();
  }
  if (control_positions_.size() >= room_beside_jobs() || !writer_.write(entry)) {
    return false;
  }
  control_positions_.push_back(entries_written_++);
  return true;
}

bool ProducerCore::write_cancel(JobRecord& job) {
  SubmissionEntry entry{};
  entry.job_id = job_number(job.id);
  entry.slot = job.slot;
  entry.opcode = static_cast<std::uint8_t>(Opcode::cancel);
  entry.ready_ns = monotonic_now_ns();
  job.cancel_written = write_beside_jobs(entry);
  return job.cancel_written;
}

void ProducerCore::cancel_soon(JobRecord& job) {
  if (!write_cancel(job)) {
    deferred_cancels_.push_back(job.id);
  }
}

bool ProducerCore::write_queued() {
  for (;;) {
    ControlRecord* const control = controls_.first_queued();
    JobRecord* const job = jobs_.first_queued();
    if (control != nullptr && (job == nullptr || control->id < job->id)) {
      if (!write_control(*control)) {
        return false;
      }
    } else if (job == nullptr) {
      return true;
    } else if (!write_job(*job)) {
      return false;
    }
  }
}

void ProducerCore::write_backlog() {
  if (entries_queued_) {
    entries_queued_ = !write_queued();
  }
  while (!deferred_cancels_.empty()) {
    // It may have ended meanwhile, and be gone.
    JobRecord* const job = jobs_.find(deferred_cancels_.front());
    if (job != nullptr && job->phase == JobPhase::submitted && !job->cancel_written &&
        !write_cancel(*job)) {
      break;
    }
    deferred_cancels_.pop_front();
  }
  publish();
}

void ProducerCore::pursue_backlog() {
  // It may wait for an answer that lies there, and nobody has to be waiting for results.
  collect();
  if (has_backlog()) {
    retry_soon();
  }
}

void ProducerCore::retry_soon() noexcept { watcher_.set_alarm(monotonic_now_ns() + kRingRetryNs); }

void ProducerCore::publish() {
  if (state_ == State::live && writer_.publish()) {
    ++counters_.doorbells_rung;
    connection_->ring_doorbell();
  }
}

bool ProducerCore::cancel(JobId id) {
  const Lock lock(mutex_);
  collect();
  JobRecord* const job = jobs_.find(id);
  if (job == nullptr || job->phase == JobPhase::done) {
    return false;
  }
  raise_if_failed();
  if (!std::exchange(job->cancel_wanted, true) && job->phase == JobPhase::submitted) {
    cancel_soon(*job);
    publish();
    if (has_backlog()) {
      retry_soon();
    }
  }
  return true;
}

std::uint32_t ProducerCore::collect() {
  if (state_ != State::live) {
    return 0;
  }
  const std::uint32_t count = take_completions();
  // Afterwards: an answer may have made the room that something waits for.
  if (state_ == State::live && has_backlog()) {
    write_backlog();
  }
  return count;
}

std::uint32_t ProducerCore::take_completions() {
  const std::uint32_t count = reader_.available();
  if (count == 0) {
    return 0;
  }
  if (count > connection_->geometry().ring_capacity) {
    fail_as_broken("it claims " + std::to_string(count) + " completions in a ring of " +
                   std::to_string(connection_->geometry().ring_capacity));
    return 0;
  }
  const std::uint64_t now_ns = monotonic_now_ns();
  for (std::uint32_t i = 0; i < count; ++i) {
    if (!accept(reader_.take(), now_ns)) {
      return i;
    }
  }
  reader_.release();
  if (followers_ > 0) {
    results_changed_.notify_all();
  }
  if (std::exchange(poll_armed_, false)) {
    poll_.wake();
  }
  return count;
}

bool ProducerCore::accept(const CompletionEntry& entry, std::uint64_t now_ns) {
  if (entry.slot != kNoSlot ? accept_job(entry, now_ns) : accept_update_answer(entry)) {
    return true;
  }
  fail_as_broken("it answered job " + std::to_string(entry.job_id) + " in slot " +
                 std::to_string(entry.slot) + " with " + std::to_string(entry.output_bytes) +
                 " bytes, which is no answer to anything under way");
  return false;
}

bool ProducerCore::accept_job(const CompletionEntry& entry, std::uint64_t now_ns) {
  JobRecord* const job = jobs_.find(JobId{entry.job_id});
  if (job == nullptr || job->phase != JobPhase::submitted || job->slot != entry.slot ||
      entry.output_bytes > connection_->geometry().output_bytes) {
    return false;
  }
  jobs_.finish(*job, entry, now_ns);
  ++counters_.results_collected;
  return true;
}

Result ProducerCore::pick_up(JobRecord& job) noexcept {
  // The job's claim on its slot and on the memory goes over.
  Result result(*this, job);
  ++handles_;
  jobs_.remove(job);
  return result;
}

std::size_t ProducerCore::hand_over(std::span<Result> results, Leavings& leavings) {
  std::size_t count = 0;
  for (Result& result : results) {
    JobRecord* const job = jobs_.first_done();
    if (job == nullptr) {
      break;
    }
    vacate(result.hold(), leavings);
    result = pick_up(*job);
    ++count;
  }
  return count;
}

JobRecord* ProducerCore::next_result(ResultOrder order) const noexcept {
  if (order == ResultOrder::completion) {
    return jobs_.first_done();
  }
  JobRecord* const job = jobs_.first_submitted();
  return job != nullptr && job->phase == JobPhase::done ? job : nullptr;
}

void ProducerCore::fail(ChannelFailure failure) noexcept {
  if (state_ != State::failed) {
    state_ = State::failed;
    failure_ = std::move(failure);
    wake_everybody();
  }
}

void ProducerCore::fail_as_broken(const std::string& what) noexcept {
  fail({ChannelFailure::Kind::closed,
        "the daemon broke the rules of the channel: " + what +
            "; daemon and library may be of different builds: update both",
        CloseReason::violation,
        {}});
  // The watcher hears of it and hangs up.
  ::shutdown(connection_->socket().get(), SHUT_RDWR);
}

void ProducerCore::raise_if_failed() const {
  if (state_ == State::failed) {
    failure_.raise();
  }
}

std::shared_ptr<ChannelConnection> ProducerCore::connection() const {
  const Lock lock(mutex_);
  return connection_;
}

std::uint32_t ProducerCore::resume_count() const {
  const Lock lock(mutex_);
  return resume_count_;
}

ProducerCounters ProducerCore::counters() const {
  const Lock lock(mutex_);
  ProducerCounters counters = counters_;
  counters.semaphore_waits = semaphore_waits_.load(std::memory_order_relaxed);
  return counters;
}

}  // namespace overlap
