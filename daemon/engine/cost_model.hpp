#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace overlap {

/// How long a device is busy with a job of a pipeline: a running mean per size class (powers of two),
/// in time per input byte; until a class has been measured, what its bytes take on a typical link.
/// Restricted: one thread.
class CostModel {
 public:
  /// Changes with everything that is learnt.
  [[nodiscard]] std::uint64_t version() const noexcept { return version_; }

  /// ns, at least 1.
  [[nodiscard]] std::uint64_t estimate_ns(std::uint64_t input_bytes) const noexcept {
    const double per_byte = ns_per_byte_[class_of(input_bytes)];
    const double guess = per_byte > 0 ? per_byte : kAssumedNsPerByte;
    return 1 + static_cast<std::uint64_t>(guess * static_cast<double>(input_bytes));
  }

  /// Takes a measurement in: a device was busy for `busy_ns` with `input_bytes` of jobs of the size
  /// class of `job_bytes`.
  /// @pre input_bytes > 0
  void learn(std::uint64_t job_bytes, std::uint64_t input_bytes, double busy_ns) noexcept {
    double& mean = ns_per_byte_[class_of(job_bytes)];
    const double seen = busy_ns / static_cast<double>(input_bytes);
    mean = mean > 0 ? mean + (seen - mean) * kNewShare : seen;
    ++version_;
  }

 private:
  /// 40 GB/s.
  static constexpr double kAssumedNsPerByte = 0.025;
  static constexpr double kNewShare = 0.125;

  [[nodiscard]] static std::size_t class_of(std::uint64_t bytes) noexcept {
    return static_cast<std::size_t>(std::bit_width(bytes));
  }

  std::uint64_t version_ = 1;
  /// By bit width; 0 while unknown.
  std::array<double, 65> ns_per_byte_{};
};

}  // namespace overlap
