#pragma once

#include "tests/bench/role_options.hpp"
#include "tests/bench/round_outcome.hpp"

#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace overlap::bench {

/// What one of the benchmark's own processes does when it is told to.
class Role {
 public:
  virtual ~Role() = default;

  /// What has to be done before the clock starts.
  virtual void prepare() {}
  /// One round. What it started has ended and is checked when it returns.
  /// @param how the rest of the command
  /// @throws std::exception if a result is wrong
  virtual RoundOutcome run(std::chrono::nanoseconds duration, const std::string& how) = 0;
};

/// The life of such a process: makes the role, says "ready", then answers each line `prepare` with
/// "prepared" and each `run START_NS MILLISECONDS HOW` with an outcome, until its input ends.
///
/// All processes of a fleet are told the same start (CLOCK_MONOTONIC): one that gets no processor at
/// once is late and has done less, instead of adding a round of its own when the others are through.
/// With 0 MILLISECONDS a round is as long as its work.
/// @return exit code; what went wrong is the last line
int serve_role(const std::function<std::unique_ptr<Role>()>& make);

/// The roles that attach to the daemon.
[[nodiscard]] std::unique_ptr<Role> make_producer_role(const RoleOptions& options);
[[nodiscard]] std::unique_ptr<Role> make_latency_role(const RoleOptions& options);
[[nodiscard]] std::unique_ptr<Role> make_idle_role(const RoleOptions& options);
[[nodiscard]] std::unique_ptr<Role> make_attacher_role(const RoleOptions& options);
[[nodiscard]] std::unique_ptr<Role> make_textbook_role(const RoleOptions& options);

}  // namespace overlap::bench
