#pragma once

#include "tests/bench/latency_record.hpp"

#include <cstdint>
#include <string>

namespace overlap::bench {

/// What one process did in one round, as a line of text.
struct RoundOutcome {
  std::uint64_t jobs = 0;
  double seconds = 0;
  LatencyRecord latency{};

  [[nodiscard]] std::string to_line() const;
  /// @throws std::runtime_error if it is no such line: then it says what went wrong
  [[nodiscard]] static RoundOutcome from_line(const std::string& line);
};

}  // namespace overlap::bench
