#pragma once

#include "producer/send/latency_histogram.hpp"

#include <cstdint>
#include <optional>
#include <string>

namespace overlap {

/// What came of a run.
struct SendReport {
  std::string kernel{};
  std::string backend{};
  std::uint64_t input_bytes = 0;
  std::uint64_t output_bytes = 0;
  std::uint64_t jobs = 0;
  /// From the first submission to the last result collected.
  double seconds = 0;
  /// Of each job, from its submission until its result was collected.
  LatencyHistogram latency{};
  /// Empty unless it was asked for.
  std::optional<bool> verified{};
  /// The first job that failed or was wrong; empty for none.
  std::string failure{};
  /// Bytes at the end of a pipe that fit no job.
  std::uint64_t surplus_bytes = 0;
  std::uint32_t resume_count = 0;
  /// Of the signal that stopped it, or 0.
  int signal_number = 0;

  [[nodiscard]] double gigabytes_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(input_bytes) / seconds / 1e9 : 0;
  }
  [[nodiscard]] double jobs_per_second() const noexcept {
    return seconds > 0 ? static_cast<double>(jobs) / seconds : 0;
  }
};

/// The summary for people, one line a fact.
[[nodiscard]] std::string report_text(const SendReport& report);

/// The summary for programs: one JSON object.
/// @throws UsageError if this build has no JSON
[[nodiscard]] std::string report_json(const SendReport& report);

}  // namespace overlap
