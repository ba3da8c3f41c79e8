#include "tests/bench/round_outcome.hpp"

#include <sstream>
#include <stdexcept>

namespace overlap::bench {

std::string RoundOutcome::to_line() const {
  std::ostringstream text;
  text.precision(17);
  text << "done " << jobs << ' ' << seconds << ' ' << latency.to_text();
  return text.str();
}

RoundOutcome RoundOutcome::from_line(const std::string& line) {
  std::istringstream text(line);
  std::string word;
  std::string latency;
  RoundOutcome outcome;
  if (!(text >> word >> outcome.jobs >> outcome.seconds >> latency) || word != "done") {
    throw std::runtime_error("a child process says: " + line);
  }
  outcome.latency = LatencyRecord::from_text(latency);
  return outcome;
}

}  // namespace overlap::bench
