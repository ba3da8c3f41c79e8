#include "producer/producer.hpp"

#include "producer/producer_core.hpp"
#include "shared/monotonic_clock.hpp"

#include <utility>

namespace overlap {
namespace {

std::uint64_t deadline_after(std::chrono::nanoseconds duration) noexcept {
  const std::uint64_t now_ns = monotonic_now_ns();
  if (duration.count() <= 0) {
    return now_ns;
  }
  const auto wait_ns = static_cast<std::uint64_t>(duration.count());
  return wait_ns >= kNoDeadline - now_ns ? kNoDeadline : now_ns + wait_ns;
}

}  // namespace

Producer::Producer(ProducerOptions options)
    : core_(std::make_shared<ProducerCore>(std::move(options))) {
  core_->start();
}

Producer& Producer::operator=(Producer&& other) noexcept {
  if (this != &other) {
    leave();
    core_ = std::move(other.core_);
  }
  return *this;
}

Producer::~Producer() { leave(); }

void Producer::leave() noexcept {
  if (!core_) {
    return;
  }
  if (core_->forked()) {
    abandon(std::move(core_));
    return;
  }
  core_->stop();
  core_.reset();
}

ProducerCore& Producer::core() const {
  if (!core_) {
    throw ProducerError("this Producer is empty: it was moved from");
  }
  core_->check_fork();
  return *core_;
}

Slot Producer::acquire() { return *core().acquire(kNoDeadline); }
std::optional<Slot> Producer::try_acquire() { return core().acquire(0); }
std::optional<Slot> Producer::acquire_for(std::chrono::nanoseconds duration) {
  return core().acquire(deadline_after(duration));
}

std::size_t Producer::try_acquire_many(std::span<Slot> slots) { return core().acquire_many(slots); }

JobId Producer::submit(Slot slot, std::uint64_t tag, const SubmitOptions& options) {
  Submission submission{std::move(slot), tag, options};
  JobId id{};
  core().submit({&submission, 1}, {&id, 1});
  return id;
}

std::vector<JobId> Producer::submit_many(std::span<Submission> submissions) {
  std::vector<JobId> ids(submissions.size());
  core().submit(submissions, ids);
  return ids;
}

void Producer::submit_many(std::span<Submission> submissions, std::span<JobId> ids) {
  if (ids.size() < submissions.size()) {
    throw InvalidSubmission("there is room for " + std::to_string(ids.size()) + " ids of " +
                            std::to_string(submissions.size()) + " jobs; give a longer span");
  }
  core().submit(submissions, ids);
}

bool Producer::cancel(JobId id) { return core().cancel(id); }
void Producer::flush() { core().flush(); }

void Producer::update_table(std::uint8_t pipeline_index, std::uint8_t stage_index,
                            std::span<const std::byte> bytes) {
  core().update_table(pipeline_index, stage_index, bytes);
}
void Producer::settle_tables() { core().settle_tables(); }
void Producer::reset_state(std::uint8_t pipeline_index) { core().reset_state(pipeline_index); }

Result Producer::wait(JobId id) { return *core().wait_job(id, kNoDeadline); }
std::optional<Result> Producer::wait_for(JobId id, std::chrono::nanoseconds duration) {
  return core().wait_job(id, deadline_after(duration));
}

Result Producer::wait_any() { return *core().wait_in(ResultOrder::completion, kNoDeadline); }
std::optional<Result> Producer::wait_any_for(std::chrono::nanoseconds duration) {
  return core().wait_in(ResultOrder::completion, deadline_after(duration));
}
std::optional<Result> Producer::try_any() { return core().try_in(ResultOrder::completion); }

std::size_t Producer::wait_any_many(std::span<Result> results) {
  return core().wait_many(results, kNoDeadline);
}
std::size_t Producer::wait_any_many_for(std::span<Result> results,
                                        std::chrono::nanoseconds duration) {
  return core().wait_many(results, deadline_after(duration));
}
std::size_t Producer::try_any_many(std::span<Result> results) { return core().try_many(results); }

void Producer::release_many(std::span<Result> results) { core().release_many(results); }
void Producer::release_many(std::span<Slot> slots) { core().release_many(slots); }

Result Producer::wait_next() { return *core().wait_in(ResultOrder::submission, kNoDeadline); }
std::optional<Result> Producer::wait_next_for(std::chrono::nanoseconds duration) {
  return core().wait_in(ResultOrder::submission, deadline_after(duration));
}
std::optional<Result> Producer::try_next() { return core().try_in(ResultOrder::submission); }

int Producer::completion_fd() { return core().completion_descriptor(); }

std::string Producer::backend() const { return core().connection()->backend(); }
std::uint32_t Producer::slot_count() const { return core().connection()->geometry().slot_count; }
std::uint64_t Producer::input_bytes() const { return core().connection()->geometry().input_bytes; }
std::uint64_t Producer::output_bytes() const {
  return core().connection()->geometry().output_bytes;
}
DaemonLimits Producer::limits() const { return core().connection()->limits(); }
std::uint32_t Producer::resume_count() const { return core().resume_count(); }
ProducerCounters Producer::counters() const { return core().counters(); }

}  // namespace overlap
