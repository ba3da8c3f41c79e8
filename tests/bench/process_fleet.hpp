#pragma once

#include "tests/bench/child_process.hpp"
#include "tests/bench/role_options.hpp"
#include "tests/bench/round_outcome.hpp"

#include <chrono>
#include <cstdint>
#include <string>
#include <vector>

namespace overlap::bench {

/// What the processes of a fleet did together in one round.
struct FleetOutcome {
  /// Of each process, added up.
  double jobs_per_second = 0;
  /// The longest.
  double seconds = 0;
  std::uint64_t jobs = 0;
  LatencyRecord latency{};
};

/// Several processes with one role. They stand ready until they are told to run, and end with this
/// object. Restricted: one thread.
class ProcessFleet {
 public:
  /// Starts them and waits until each has said that it is ready; `index` differs among them.
  /// @throws std::runtime_error with what one of them said, Interrupted
  ProcessFleet(std::uint32_t count, RoleOptions role);

  [[nodiscard]] std::uint32_t size() const noexcept {
    return static_cast<std::uint32_t>(processes_.size());
  }

  /// Lets the first `count` of them run for so long from one moment on, and waits for them.
  FleetOutcome run(std::uint32_t count, std::chrono::milliseconds duration,
                   const std::string& how = "resubmit");

  /// The halves of `run`, to do something meanwhile.
  void start(std::uint32_t count, std::chrono::milliseconds duration,
             const std::string& how = "resubmit");
  FleetOutcome finish();

 private:
  std::vector<ChildProcess> processes_;
  std::uint32_t running_ = 0;
};

}  // namespace overlap::bench
