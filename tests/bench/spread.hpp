#pragma once

#include <vector>

namespace overlap::bench {

/// What several rounds gave: the median, and between which bounds it was.
struct Spread {
  double median = 0;
  double least = 0;
  double most = 0;

  /// @pre there is at least one value
  [[nodiscard]] static Spread of(std::vector<double> values);
};

}  // namespace overlap::bench
