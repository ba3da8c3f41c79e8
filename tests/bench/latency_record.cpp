#include "tests/bench/latency_record.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>
#include <stdexcept>

namespace overlap::bench {
namespace {

/// Every power of two has 2^6 buckets.
constexpr std::uint32_t kSubBits = 6;
constexpr std::size_t kBuckets = std::size_t{64 - kSubBits + 1} << kSubBits;

constexpr std::size_t bucket_of(std::uint64_t value) noexcept {
  const auto width = static_cast<std::uint32_t>(std::bit_width(value));
  const std::uint32_t shift = width > kSubBits + 1 ? width - kSubBits - 1 : 0;
  return (std::size_t{shift} << kSubBits) + static_cast<std::size_t>(value >> shift);
}

/// The largest value of a bucket.
constexpr std::uint64_t top_of(std::size_t bucket) noexcept {
  const std::size_t row = bucket >> kSubBits;
  const std::size_t shift = row > 1 ? row - 1 : 0;
  const std::uint64_t mantissa = bucket - (shift << kSubBits);
  return (mantissa << shift) + ((std::uint64_t{1} << shift) - 1);
}

static_assert(bucket_of(UINT64_MAX) < kBuckets);

}  // namespace

LatencyRecord::LatencyRecord() : counts_(kBuckets) {}

void LatencyRecord::add(std::uint64_t duration_ns) noexcept {
  ++counts_[bucket_of(duration_ns)];
  ++count_;
  worst_ns_ = std::max(worst_ns_, duration_ns);
}

void LatencyRecord::add(const LatencyRecord& other) noexcept {
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    counts_[bucket] += other.counts_[bucket];
  }
  count_ += other.count_;
  worst_ns_ = std::max(worst_ns_, other.worst_ns_);
}

void LatencyRecord::clear() noexcept {
  std::fill(counts_.begin(), counts_.end(), 0);
  count_ = 0;
  worst_ns_ = 0;
}

std::optional<double> LatencyRecord::quantile_us(double share) const noexcept {
  // A little slack, as 1 - 0.999 is not exactly a thousandth.
  if (static_cast<double>(count_) * (1 - share) < kSamplesBeyond * (1 - 1e-9)) {
    return std::nullopt;
  }
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(count_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted && seen > 0) {
      return static_cast<double>(std::min(top_of(bucket), worst_ns_)) * 1e-3;
    }
  }
  return std::nullopt;
}

std::string LatencyRecord::to_text() const {
  std::ostringstream text;
  text << worst_ns_;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    if (counts_[bucket] != 0) {
      text << ',' << bucket << ':' << counts_[bucket];
    }
  }
  return text.str();
}

LatencyRecord LatencyRecord::from_text(const std::string& text) {
  LatencyRecord record;
  std::istringstream in(text);
  bool good = static_cast<bool>(in >> record.worst_ns_);
  char comma = 0;
  while (good && in >> comma) {
    std::size_t bucket = 0;
    char colon = 0;
    std::uint64_t samples = 0;
    good = comma == ',' && in >> bucket >> colon >> samples && colon == ':' && bucket < kBuckets;
    if (good) {
      record.counts_[bucket] += samples;
      record.count_ += samples;
    }
  }
  if (!good) {
    throw std::runtime_error("'" + text + "' is no record of latencies");
  }
  return record;
}

}  // namespace overlap::bench
