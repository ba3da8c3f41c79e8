#include "kernels/numeric/histogram.hpp"

#include <cmath>
#include <cstring>
#include <map>

namespace overlap {

std::uint64_t HistogramKernel::reference(const ReferenceJob& job) const {
  if (job.input.empty()) {
    return 0;
  }
  const bool bytes = job.params[0].choice_index == 0;
  const auto bins = static_cast<std::uint64_t>(job.params[1].i64);
  const double lower = job.params[2].f64;
  const double upper = job.params[3].f64;
  std::map<std::uint64_t, std::uint32_t> counts;
  for (std::size_t at = 0; at < job.input.size(); at += bytes ? 1 : sizeof(float)) {
    if (bytes) {
      ++counts[std::to_integer<std::uint64_t>(job.input[at]) * bins / 256];
      continue;
    }
    float x = 0;
    std::memcpy(&x, &job.input[at], sizeof x);
    if (std::isnan(x) || x < lower || x > upper) {
      continue;
    }
    const volatile double width = upper - lower;
    const volatile double per_unit = static_cast<double>(bins) / width;
    const volatile double from_lower = x - lower;
    const volatile double position = from_lower * per_unit;
    const double bin = std::floor(position);
    ++counts[bin >= static_cast<double>(bins) ? bins - 1 : static_cast<std::uint64_t>(bin)];
  }
  for (std::uint64_t bin = 0; bin < bins; ++bin) {
    const std::uint32_t count = counts.contains(bin) ? counts[bin] : 0;
    std::memcpy(&job.output[bin * sizeof count], &count, sizeof count);
  }
  return bins * sizeof(std::uint32_t);
}

}  // namespace overlap
