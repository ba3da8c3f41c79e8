#include "producer/send/sender.hpp"

#include "shared/byte_size.hpp"
#include "shared/monotonic_clock.hpp"

#include <poll.h>
#include <algorithm>
#include <array>
#include <chrono>
#include <utility>
#include <variant>

namespace overlap {
namespace {

/// How long a wait lasts before it looks for a signal.
constexpr std::chrono::milliseconds kLookUp{200};

std::string surplus_text(const std::string& name, std::uint64_t surplus_bytes,
                         const Pipeline& pipeline, std::uint64_t odd_bytes) {
  const PipelinePlanOrRefusal planned = pipeline.plan(odd_bytes);
  const auto* const refusal = std::get_if<Refusal>(&planned);
  return name + " does not fit " + pipeline.text() + ": the last " + std::to_string(surplus_bytes) +
         " bytes are surplus" + (refusal != nullptr ? " (" + refusal->text + ")" : "");
}

}  // namespace

std::uint64_t job_bytes(const Pipeline& pipeline, std::uint64_t wanted_bytes) {
  const std::uint64_t bytes = pipeline.largest_input_bytes(wanted_bytes);
  if (bytes == 0) {
    const PipelinePlanOrRefusal planned = pipeline.plan(wanted_bytes);
    const auto* const refusal = std::get_if<Refusal>(&planned);
    throw UsageError("no job of " + format_bytes(wanted_bytes) + " or less fits " +
                     pipeline.text() + (refusal != nullptr ? ": " + refusal->text : "") +
                     "; raise --slot-bytes");
  }
  return bytes;
}

void check_length(const Pipeline& pipeline, const std::string& name, std::uint64_t length_bytes,
                  std::uint64_t job_bytes) {
  const std::uint64_t last_bytes = length_bytes % job_bytes;
  if (std::holds_alternative<Refusal>(pipeline.plan(last_bytes))) {
    const std::uint64_t surplus_bytes = last_bytes - pipeline.largest_input_bytes(last_bytes);
    throw UsageError(surplus_text(name, surplus_bytes, pipeline, last_bytes) +
                     "; nothing was sent: cut them off or choose another kernel");
  }
}

Sender::Sender(Producer& producer, const Pipeline& pipeline, InputSource& source, OutputSink* sink,
               StopRequest& stop, ProgressBar& progress, const SendOptions& options,
               std::span<const StageTable> tables)
    : producer_(producer),
      pipeline_(pipeline),
      source_(source),
      sink_(sink),
      stop_(stop),
      progress_(progress),
      kind_(element_kind(pipeline)),
      passes_left_(options.reads_pattern() ? 1 : options.count) {
  report_.kernel = pipeline.text();
  report_.backend = producer.backend();
  if (options.verify) {
    reference_.emplace(pipeline, tables);
    report_.verified = true;
  }
  if (const auto pass_bytes = source_.pass_bytes()) {
    left_in_pass_ = *pass_bytes;
    passes_left_ = *pass_bytes == 0 ? 0 : passes_left_;
  }
}

SendReport Sender::run() {
  started_ns_ = ended_ns_ = monotonic_now_ns();
  while (wants_more()) {
    if ((report_.signal_number = stop_.signal_number()) != 0) {
      break;
    }
    if (!has_slot()) {
      continue;
    }
    if (source_.pass_bytes()) {
      fill_from_known_length();
    } else {
      fill_from_stream();
    }
    take_ready();
  }
  slot_.release();
  while (in_flight_ > 0) {
    take_next();
  }
  report_.seconds = static_cast<double>(ended_ns_ - started_ns_) / 1e9;
  report_.backend = producer_.backend();
  report_.resume_count = producer_.resume_count();
  return report_;
}

bool Sender::wants_more() const noexcept {
  return report_.failure.empty() && (source_.pass_bytes() ? passes_left_ > 0 : !stream_ended_);
}

bool Sender::has_slot() {
  if (slot_) {
    return true;
  }
  if (auto slot = producer_.try_acquire()) {
    slot_ = std::move(*slot);
    filled_bytes_ = 0;
    return true;
  }
  if (in_flight_ > 0) {
    take_next();
  } else if (auto slot = producer_.acquire_for(kLookUp)) {
    slot_ = std::move(*slot);
    filled_bytes_ = 0;
    return true;
  }
  return false;
}

void Sender::fill_from_known_length() {
  const std::span<std::byte> input =
      slot_.input().first(std::min<std::uint64_t>(slot_.input_bytes(), left_in_pass_));
  while (filled_bytes_ < input.size()) {
    const std::size_t got = source_.read(input.subspan(filled_bytes_));
    if (got == 0) {
      throw InputError("the input became " + std::to_string(left_in_pass_ - filled_bytes_) +
                       " bytes shorter while it was read");
    }
    filled_bytes_ += got;
  }
  left_in_pass_ -= filled_bytes_;
  submit();
  if (left_in_pass_ == 0 && --passes_left_ > 0) {
    source_.rewind();
    left_in_pass_ = *source_.pass_bytes();
  }
}

void Sender::fill_from_stream() {
  if (!await_stream()) {
    return;
  }
  const std::size_t got = source_.read(slot_.input().subspan(filled_bytes_));
  filled_bytes_ += got;
  if (got == 0) {
    end_stream();
  } else if (filled_bytes_ == slot_.input_bytes()) {
    submit();
  }
}

void Sender::end_stream() {
  stream_ended_ = true;
  const std::uint64_t got_bytes = filled_bytes_;
  if (std::holds_alternative<Refusal>(pipeline_.plan(got_bytes))) {
    filled_bytes_ = pipeline_.largest_input_bytes(got_bytes);
    report_.surplus_bytes = got_bytes - filled_bytes_;
  }
  if (filled_bytes_ > 0) {
    submit();
  }
}

/// @return whether there is something to read
bool Sender::await_stream() {
  // Results are written as they come, also while the writer of a pipe takes its time.
  std::array<pollfd, 3> watched{pollfd{source_.descriptor(), POLLIN, 0},
                                pollfd{stop_.descriptor(), POLLIN, 0}, pollfd{-1, POLLIN, 0}};
  if (in_flight_ > 0) {
    watched[2].fd = producer_.completion_fd();
    take_ready();
  }
  ::poll(watched.data(), watched.size(), -1);
  return watched[0].revents != 0 && watched[1].revents == 0;
}

void Sender::submit() {
  producer_.submit(std::move(slot_), 0, {.input_bytes = filled_bytes_});
  report_.input_bytes += filled_bytes_;
  ++in_flight_;
  filled_bytes_ = 0;
}

void Sender::take_next() {
  if (report_.signal_number == 0) {
    report_.signal_number = stop_.signal_number();
  }
  if (const auto result = producer_.wait_next_for(kLookUp)) {
    take(*result);
  }
}

void Sender::take_ready() {
  while (in_flight_ > 0) {
    const auto result = producer_.try_next();
    if (!result) {
      return;
    }
    take(*result);
  }
}

void Sender::take(const Result& result) {
  --in_flight_;
  ++report_.jobs;
  ended_ns_ = std::max(ended_ns_, result.collected_ns());
  report_.latency.add(result.collected_ns() - result.ready_ns());
  if (!report_.failure.empty()) {
    return;
  }
  if (!result.ok()) {
    report_.failure =
        "job " + std::to_string(job_number(result.job_id())) + ": " + result.status_text();
    if (reference_) {
      report_.verified = false;
    }
    return;
  }
  report_.output_bytes += result.output_bytes();
  if (reference_ && !is_right(result)) {
    report_.verified = false;
    report_.failure = "job " + std::to_string(job_number(result.job_id())) +
                      ": the result is not that of the kernel's reference";
  }
  if (sink_ != nullptr) {
    sink_->write(result.output());
  }
  progress_.show(report_.input_bytes);
}

bool Sender::is_right(const Result& result) {
  if (result.discontinuity()) {
    // The daemon began anew with this job, and says so.
    reference_->reset();
  }
  return same_result(kind_, reference_->run(result.input()), result.output());
}

}  // namespace overlap
