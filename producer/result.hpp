#pragma once

#include "producer/job_id.hpp"
#include "producer/slot_hold.hpp"
#include "shared/channel_layout.hpp"
#include "shared/job_status.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <type_traits>

namespace overlap {

struct JobRecord;

/// How a job ended, and its output in place. The slot is free again once this is released or goes.
/// Points into the memory that answered it, whatever happens to the daemon. Move-only; may outlive
/// its `Producer`. Thread safety: not; different results on different threads are independent.
///
/// Every method but `release` and `operator bool` throws `ForkedProcess` in a child of `fork`.
class Result {
 public:
  /// Empty.
  Result() noexcept = default;
  /// Takes over the job's claim on its slot.
  Result(ProducerCore& core, const JobRecord& job) noexcept;

  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(hold_); }

  [[nodiscard]] JobId job_id() const { return JobId{checked().completion_.job_id}; }
  /// The number given to `submit`.
  [[nodiscard]] std::uint64_t tag() const { return checked().tag_; }
  [[nodiscard]] JobStatus status() const {
    return static_cast<JobStatus>(checked().completion_.status);
  }
  [[nodiscard]] bool ok() const { return status() == JobStatus::ok; }
  /// A sentence for people, with the detail where there is one.
  [[nodiscard]] std::string status_text() const;
  /// Finished after its deadline.
  [[nodiscard]] bool late() const { return (checked().completion_.flags & kCompletionLate) != 0; }
  /// The first result after a stateful kernel lost its history.
  [[nodiscard]] bool discontinuity() const {
    return (checked().completion_.flags & kCompletionDiscontinuity) != 0;
  }
  /// The device's error number where the kernel failed.
  [[nodiscard]] std::uint32_t detail_code() const { return checked().completion_.detail_code; }
  /// KiB needed where the output area was too small.
  [[nodiscard]] std::uint32_t detail_value() const { return checked().completion_.detail_value; }

  /// The output as elements of type T; a rest too short for one is left out. Empty unless `ok`.
  template <class T = std::byte>
  [[nodiscard]] std::span<const T> output() const {
    return elements<T>(output_area());
  }
  [[nodiscard]] std::uint64_t output_bytes() const { return output_area().size(); }
  /// The input as it was submitted.
  template <class T = std::byte>
  [[nodiscard]] std::span<const T> input() const {
    return elements<T>(input_area());
  }

  /// CLOCK_MONOTONIC ns: submitted, taken by the daemon, put on the device, seen finished, collected
  /// by this library. 0 where the job never got there.
  [[nodiscard]] std::uint64_t ready_ns() const { return checked().completion_.ready_ns; }
  [[nodiscard]] std::uint64_t taken_ns() const { return checked().completion_.taken_ns; }
  [[nodiscard]] std::uint64_t issued_ns() const { return checked().completion_.issued_ns; }
  [[nodiscard]] std::uint64_t done_ns() const { return checked().completion_.done_ns; }
  [[nodiscard]] std::uint64_t collected_ns() const { return checked().collected_ns_; }

  /// Which slot of its channel it lies in.
  [[nodiscard]] std::uint32_t slot() const { return checked().hold_.index(); }

  /// Gives the slot back; spans taken from here must not be used afterwards. Idempotent.
  void release() noexcept { hold_.release(); }

  [[nodiscard]] SlotHold& hold() noexcept { return hold_; }
  [[nodiscard]] const SlotHold& hold() const noexcept { return hold_; }

 private:
  template <class T>
  static std::span<const T> elements(std::span<const std::byte> bytes) noexcept {
    static_assert(std::is_trivially_copyable_v<T> && alignof(T) <= 256);
    return {reinterpret_cast<const T*>(bytes.data()), bytes.size() / sizeof(T)};
  }

  [[nodiscard]] const Result& checked() const {
    hold_.check();
    return *this;
  }
  [[nodiscard]] std::span<const std::byte> output_area() const;
  [[nodiscard]] std::span<const std::byte> input_area() const;

  SlotHold hold_;
  std::uint64_t tag_ = 0;
  std::uint64_t input_bytes_ = 0;
  std::uint64_t collected_ns_ = 0;
  CompletionEntry completion_{};
};

}  // namespace overlap
