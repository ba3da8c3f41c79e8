#pragma once

#include <cstdint>
#include <string>

namespace overlap::bench {

/// What a producer process feeds.
struct ProducerLoad {
  std::string socket_path;
  /// Element-wise on f32, with a and b such that a·x+b is exact on small integers: the check's own
  /// arithmetic is then exact too.
  double a = 2;
  double b = 1;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slot_count = 0;
};

/// One round's outcome, as a line of text.
struct RoundOutcome {
  std::uint64_t jobs = 0;
  double seconds = 0;
  double p50_us = 0;
  double p99_us = 0;

  [[nodiscard]] std::string to_line() const;
  /// @throws std::runtime_error if it is no such line: then it says what went wrong
  [[nodiscard]] static RoundOutcome from_line(const std::string& line);
};

/// The life of a producer process: attaches, fills every slot once, says "ready", then for each line
/// "run MILLISECONDS" keeps every slot submitted for that long, checks every element of the last
/// results and answers with a line. Ends with its input.
/// @return exit code
int run_producer(const ProducerLoad& load);

}  // namespace overlap::bench
