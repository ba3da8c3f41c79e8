#pragma once

#include "tests/bench/report.hpp"

#include <string>

namespace overlap::bench {

/// The plot of a run: throughput over slot size of daemon, ceiling and peers, and below it the share
/// of the ceiling, all with the first producer count that was measured.
/// @throws std::runtime_error if nothing was measured that could be drawn
[[nodiscard]] std::string to_svg(const Report& report);

}  // namespace overlap::bench
