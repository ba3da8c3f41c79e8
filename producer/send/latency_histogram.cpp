#include "producer/send/latency_histogram.hpp"

#include <cmath>

namespace overlap {

std::uint64_t LatencyHistogram::quantile_ns(double share) const noexcept {
  const auto wanted = static_cast<std::uint64_t>(std::ceil(share * static_cast<double>(total_)));
  std::uint64_t seen = 0;
  for (std::size_t bucket = 0; bucket < counts_.size(); ++bucket) {
    seen += counts_[bucket];
    if (seen >= wanted && seen > 0) {
      return top_of(bucket);
    }
  }
  return 0;
}

}  // namespace overlap
