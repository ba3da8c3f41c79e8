#pragma once

#include "tests/unit/channel_harness.hpp"

#include <cstdint>
#include <cstring>
#include <map>
#include <vector>

namespace overlap::testing {

/// A producer whose jobs are one number each, numbered from 1, each on the next slot.
class NumberJobs {
 public:
  /// @pre the harness outlives it
  explicit NumberJobs(ChannelHarness& producer) : producer_(producer) {}

  void submit(std::uint64_t number, SubmissionEntry entry = {}) {
    const auto slot =
        static_cast<std::uint32_t>(submitted_ % producer_.view().geometry().slot_count);
    std::memcpy(producer_.view().input(slot).data(), &number, sizeof number);
    entry.job_id = ++submitted_;
    entry.slot = slot;
    entry.input_bytes = entry.input_bytes == 0 ? sizeof number : entry.input_bytes;
    producer_.submit(entry);
  }
  void submit_all(const std::vector<std::uint64_t>& numbers) {
    for (const std::uint64_t number : numbers) {
      submit(number);
    }
  }
  void reset_state(std::uint8_t pipeline_index = 0) {
    SubmissionEntry entry{};
    entry.opcode = static_cast<std::uint8_t>(Opcode::reset_state);
    entry.slot = kNoSlot;
    entry.pipeline_index = pipeline_index;
    producer_.submit(entry);
  }

  struct Outcome {
    std::uint64_t job_id;
    JobStatus status;
    /// The output, if it is a number.
    std::uint64_t number;
    std::uint64_t output_bytes;
    bool discontinuity;
  };

  /// What has been completed since the last call, in the order of completion.
  [[nodiscard]] std::vector<Outcome> outcomes() {
    std::vector<Outcome> all;
    for (const CompletionEntry& entry : producer_.collect()) {
      std::uint64_t number = 0;
      if (entry.slot != kNoSlot && entry.output_bytes == sizeof number) {
        std::memcpy(&number, producer_.view().output(entry.slot).data(), sizeof number);
      }
      all.push_back({entry.job_id, static_cast<JobStatus>(entry.status), number, entry.output_bytes,
                     (entry.flags & kCompletionDiscontinuity) != 0});
    }
    return all;
  }
  /// The numbers alone, in the order of completion; a job without one counts as `kNone`.
  static constexpr std::uint64_t kNone = UINT64_MAX;
  [[nodiscard]] static std::vector<std::uint64_t> numbers(const std::vector<Outcome>& outcomes) {
    std::vector<std::uint64_t> all;
    for (const Outcome& outcome : outcomes) {
      const bool has_one = outcome.status == JobStatus::ok && outcome.output_bytes != 0;
      all.push_back(has_one ? outcome.number : kNone);
    }
    return all;
  }
  [[nodiscard]] std::vector<std::uint64_t> numbers() { return numbers(outcomes()); }

 private:
  ChannelHarness& producer_;
  std::uint64_t submitted_ = 0;
};

}  // namespace overlap::testing
