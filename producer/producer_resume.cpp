#include "producer/producer_core.hpp"
#include "shared/control_protocol.hpp"
#include "shared/control_socket.hpp"
#include "shared/duration_text.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

namespace overlap {
namespace {

constexpr std::chrono::milliseconds kFirstBackOff{10};
constexpr std::chrono::milliseconds kLongestBackOff{500};

}  // namespace

void ProducerCore::serve_socket() {
  for (;;) {
    const Packet packet = receive_packet(connection_->socket());
    if (packet.outcome == Packet::Outcome::empty) {
      return;
    }
    if (packet.outcome == Packet::Outcome::closed) {
      lose_channel(draining_ ? CloseReason::drain : CloseReason::none);
      return;
    }
    const auto closing = read_message<ClosingNotice>(packet.bytes, MessageType::closing);
    // Other messages belong to later versions.
    if (!closing) {
      continue;
    }
    if (closing->reason != CloseReason::drain) {
      close_channel(closing->reason, read_text(closing->text));
      return;
    }
    // Jobs under way may still finish: the channel lives until the socket is closed.
    draining_ = true;
  }
}

void ProducerCore::close_channel(CloseReason reason, std::string_view daemon_text) {
  const Lock lock(mutex_);
  collect();
  std::string text = "the daemon closed the channel: " + std::string(close_reason_text(reason));
  if (!daemon_text.empty()) {
    text += ": " + std::string(daemon_text);
  }
  text += "; " + std::to_string(jobs_.unfinished()) + " jobs have no result; attach anew";
  fail({ChannelFailure::Kind::closed, std::move(text), reason, {}});
  poll_.detach();
  connection_->hang_up();
}

void ProducerCore::lose_channel(CloseReason reason) {
  {
    const Lock lock(mutex_);
    // What the dead daemon had answered is answered: collect it before anything is run again.
    collect();
    poll_.detach();
    connection_->hang_up();
    if (state_ == State::failed) {
      return;
    }
    draining_ = false;
    if (!options_.resume) {
      fail({ChannelFailure::Kind::gone,
            "the daemon at " + plan_.path.path + " has gone (" +
                std::string(close_reason_text(reason)) + ") and resuming is switched off; " +
                std::to_string(jobs_.unfinished()) + " jobs have no result; attach anew",
            reason,
            {}});
      return;
    }
    if (reason == CloseReason::none) {
      account_for_death();
    }
    account_for_lost_state();
    state_ = State::resuming;
    plan_.flags |= kAttachHistoryLost;
    // The next channel begins with the tables that the oldest of the remaining jobs needs.
    compact_controls();
    controls_.queue_all();
    tables_.free_all_places();
    jobs_.queue_unfinished();
    wake_everybody();
  }
  if (auto connection = attach_afresh()) {
    adopt_channel(std::move(connection));
  }
}

void ProducerCore::account_for_death() {
  const ChannelView& view = connection_->view();
  jobs_.for_each_unfinished([&](JobRecord& job) {
    // Acquire: the daemon is gone, its last store is all there is.
    const bool issued = job.phase == JobPhase::submitted &&
                        view.issued(job.slot).load(std::memory_order_acquire) != 0;
    if (count_death(job, issued)) {
      end_without_run(job, JobStatus::device_lost);
    }
  });
}

void ProducerCore::account_for_lost_state() {
  if (options_.on_state_loss == StateLossAction::restart) {
    return;
  }
  jobs_.for_each_unfinished([&](JobRecord& job) {
    if (connection_->abilities().is_stateful(job.pipeline_index)) {
      end_without_run(job, JobStatus::state_lost);
    }
  });
}

void ProducerCore::end_without_run(JobRecord& job, JobStatus status) noexcept {
  CompletionEntry end{};
  end.job_id = job_number(job.id);
  end.slot = job.slot;
  end.status = static_cast<std::uint16_t>(status);
  end.ready_ns = job.ready_ns;
  jobs_.finish(job, end, monotonic_now_ns());
}

std::shared_ptr<ChannelConnection> ProducerCore::attach_afresh() {
  const std::uint64_t end_ns =
      monotonic_now_ns() +
      static_cast<std::uint64_t>(std::chrono::nanoseconds(options_.resume_timeout).count());
  std::chrono::nanoseconds back_off = kFirstBackOff;
  for (;;) {
    std::string last_try;
    try {
      return attach_channel(plan_);
    } catch (const AttachError& error) {
      if (!may_pass(error.problem())) {
        const Lock lock(mutex_);
        fail({ChannelFailure::Kind::refused, error.what(), CloseReason::none, error.problem()});
        return nullptr;
      }
      last_try = error.what();
    } catch (const std::exception& error) {
      last_try = error.what();
    }
    const std::uint64_t now_ns = monotonic_now_ns();
    if (now_ns >= end_ns) {
      const Lock lock(mutex_);
      fail({ChannelFailure::Kind::gone,
            "the daemon at " + plan_.path.path + " has gone and none came back within " +
                format_duration(options_.resume_timeout) + "; " +
                std::to_string(jobs_.unfinished()) +
                " jobs have no result; start overlapd and attach anew (last try: " + last_try + ")",
            CloseReason::none,
            {}});
      return nullptr;
    }
    back_off = std::min(back_off, std::chrono::nanoseconds(end_ns - now_ns));
    if (watcher_.stopped_within(back_off)) {
      return nullptr;
    }
    back_off = std::min<std::chrono::nanoseconds>(back_off * 2, kLongestBackOff);
  }
}

void ProducerCore::adopt_channel(std::shared_ptr<ChannelConnection> connection) {
  Leavings leavings;
  Lock lock(mutex_);
  if (state_ == State::failed) {
    connection->hang_up();
    return;
  }
  slots_ = slots_.successor(connection.get());
  const ChannelConnection& previous = *connection_;
  auto& former = connection_->has_users() ? retired_ : leavings.memory;
  former.push_back(std::move(connection_));
  connection_ = std::move(connection);
  writer_ = SubmissionWriter(connection_->view());
  reader_ = CompletionReader(connection_->view());
  entries_written_ = 0;
  control_positions_.clear();
  updates_out_ = 0;
  deferred_cancels_.clear();
  translate_parameters_of_jobs(previous);
  poll_.attach(connection_->wake_descriptor());
  bring_jobs_to_current_channel(lock, leavings);
  if (state_ == State::failed) {
    return;
  }
  state_ = State::live;
  ++resume_count_;
  entries_queued_ = true;
  pursue_backlog();
  if (poll_armed_) {
    arm_poll();
    if (jobs_.results() != 0) {
      poll_.wake();
    }
  }
  results_changed_.notify_all();
  slots_changed_.notify_all();
}

void ProducerCore::translate_parameters_of_jobs(const ChannelConnection& former) noexcept {
  jobs_.for_each_unfinished([&](JobRecord& job) {
    if ((job.parameter_flags & kSubmissionParameters) == 0) {
      return;
    }
    EncodedParameters values{job.parameter_flags, job.parameters};
    if (translate_parameters(values, former.abilities().job_parameters[job.pipeline_index],
                             declared_parameters(job.pipeline_index))) {
      job.parameter_flags = values.flags;
      job.parameters = values.bytes;
    } else {
      // Submitted all the same: where the job would have stood in a pipeline's history is the
      // daemon's to mark.
      job.parameter_flags = kSubmissionRefuse;
    }
  });
}

void ProducerCore::bring_jobs_to_current_channel(Lock& lock, Leavings& leavings) {
  // While the mutex is let go, jobs are added behind the others; an unfinished one is removed by
  // nobody, and so is the memory that it is in.
  for (JobRecord* next = jobs_.first_queued(); next != nullptr && state_ == State::resuming;
       next = JobTable::next_queued(*next)) {
    JobRecord& job = *next;
    ChannelConnection& source = *job.connection;
    const std::uint32_t slot = slots_.take_for_job();
    lock.unlock();
    // Unlocked, for input areas can be large. The input is written by nobody: the program gave it
    // away, the daemon never writes inputs.
    std::memcpy(connection_->view().input(slot).data(), source.view().input(job.slot).data(),
                job.input_bytes);
    lock.lock();
    connection_->add_user();
    job.connection = connection_.get();
    job.slot = slot;
    drop_user(source, leavings);
  }
}

}  // namespace overlap
