#pragma once

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace overlap {

/// Durations in a fixed amount of memory, each kept within 1/64 of its value. Restricted: one thread.
class LatencyHistogram {
 public:
  void add(std::uint64_t duration_ns) noexcept {
    ++counts_[bucket_of(duration_ns)];
    ++total_;
  }

  [[nodiscard]] std::uint64_t count() const noexcept { return total_; }

  /// The smallest kept duration that at least this share of all does not exceed; 0 without any.
  /// @pre 0 < share <= 1
  [[nodiscard]] std::uint64_t quantile_ns(double share) const noexcept;

 private:
  /// Buckets of one power of two.
  static constexpr std::uint32_t kSubBits = 6;
  static constexpr std::size_t kBuckets = (64 - kSubBits + 1) << kSubBits;

  [[nodiscard]] static constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
    const auto width = static_cast<std::uint32_t>(std::bit_width(value));
    const std::uint32_t shift = width > kSubBits + 1 ? width - kSubBits - 1 : 0;
    return (std::size_t{shift} << kSubBits) + static_cast<std::size_t>(value >> shift);
  }
  /// The largest value of a bucket.
  [[nodiscard]] static constexpr std::uint64_t top_of(std::size_t bucket) noexcept {
    const std::size_t row = bucket >> kSubBits;
    const std::size_t shift = row > 1 ? row - 1 : 0;
    const std::uint64_t mantissa = bucket - (shift << kSubBits);
    return (mantissa << shift) + ((std::uint64_t{1} << shift) - 1);
  }

  std::array<std::uint64_t, kBuckets> counts_{};
  std::uint64_t total_ = 0;
};

}  // namespace overlap
