#include "producer/result.hpp"

#include "producer/job_table.hpp"

namespace overlap {

Result::Result(ProducerCore& core, const JobRecord& job) noexcept
    : hold_(core, *job.connection, job.slot),
      tag_(job.tag),
      input_bytes_(job.input_bytes),
      collected_ns_(job.collected_ns),
      completion_(job.completion) {}

std::string Result::status_text() const {
  std::string text(overlap::status_text(status()));
  if (status() == JobStatus::kernel_failed && detail_code() != 0) {
    text += " (device error " + std::to_string(detail_code()) + ")";
  }
  if (status() == JobStatus::output_too_small && detail_value() != 0) {
    text += " (it needs " + std::to_string(detail_value()) + " KiB)";
  }
  return text;
}

std::span<const std::byte> Result::output_area() const {
  hold_.check();
  return hold_.connection().view().output(hold_.index()).first(completion_.output_bytes);
}

std::span<const std::byte> Result::input_area() const {
  hold_.check();
  return hold_.connection().view().input(hold_.index()).first(input_bytes_);
}

}  // namespace overlap
