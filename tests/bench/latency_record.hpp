#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overlap::bench {

/// Durations, each kept within 1/64 of its value, and the longest exactly. Travels between processes
/// as one word of text, and records of several rounds or processes add up. Restricted: one thread.
class LatencyRecord {
 public:
  /// A quantile is only given if at least this many samples lie beyond it: of p99.9 that is 10,000
  /// samples in all. With fewer it says more of luck than of the program.
  static constexpr double kSamplesBeyond = 10;

  LatencyRecord();

  void add(std::uint64_t duration_ns) noexcept;
  void add(const LatencyRecord& other) noexcept;
  void clear() noexcept;

  [[nodiscard]] std::uint64_t count() const noexcept { return count_; }
  /// The longest of all, exactly; 0 without any.
  [[nodiscard]] std::uint64_t worst_ns() const noexcept { return worst_ns_; }

  /// The smallest kept duration that this share of all does not exceed, in us; empty if there are too
  /// few samples for it.
  /// @pre 0 < share < 1
  [[nodiscard]] std::optional<double> quantile_us(double share) const noexcept;

  /// No spaces in it.
  [[nodiscard]] std::string to_text() const;
  /// @throws std::runtime_error if it is no such text
  [[nodiscard]] static LatencyRecord from_text(const std::string& text);

 private:
  std::vector<std::uint64_t> counts_;
  std::uint64_t count_ = 0;
  std::uint64_t worst_ns_ = 0;
};

}  // namespace overlap::bench
