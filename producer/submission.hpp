#pragma once

#include "producer/job_parameters.hpp"
#include "producer/slot.hpp"

#include <cstdint>
#include <optional>

namespace overlap {

/// What may be said of a job beside its slot and its tag.
struct SubmitOptions {
  /// Bytes of the slot that were filled, 0 included; empty: all of them.
  std::optional<std::uint64_t> input_bytes{};
  /// Which of the channel's pipelines.
  std::uint8_t pipeline_index = 0;
  /// CLOCK_MONOTONIC ns, absolute; a job not on the device by then ends as `deadline_passed`, one
  /// that is there finishes and is `late`. 0 for none.
  std::uint64_t deadline_ns = 0;
  /// The job's own values for parameters of the pipeline's first kernel, instead of those in the
  /// pipeline's text: `.params = {{"a", 2.0}, {"b", 1.0}}`. Which ones it takes from a job, the kernel
  /// says; a value out of range ends the job as `request_refused`.
  JobParameters params{};
};

/// One job for `Producer::submit_many`.
struct Submission {
  Slot slot{};
  /// The caller's own number, handed back with the result.
  std::uint64_t tag = 0;
  SubmitOptions options{};
};

}  // namespace overlap
