#include "tests/bench/spread.hpp"

#include <algorithm>
#include <cstddef>

namespace overlap::bench {

Spread Spread::of(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const std::size_t middle = values.size() / 2;
  const double median =
      values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
  return {.median = median, .least = values.front(), .most = values.back()};
}

}  // namespace overlap::bench
