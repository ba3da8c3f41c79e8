#pragma once

#include "shared/control_protocol.hpp"
#include "tests/bench/child_process.hpp"
#include "tests/bench/temporary_folder.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace overlap::bench {

/// What the daemon counts of itself, from its start on or between two readings.
struct DaemonCounters {
  std::uint64_t jobs = 0;
  std::uint64_t batches = 0;
  /// Semaphore posts and eventfd rings for producers that waited.
  std::uint64_t producer_wakes = 0;
  std::uint64_t engine_sleeps = 0;

  [[nodiscard]] DaemonCounters operator-(const DaemonCounters& before) const noexcept;
  DaemonCounters& operator+=(const DaemonCounters& other) noexcept;
};

/// The real overlapd, started and stopped with this object, on a socket of its own.
class MeasuredDaemon {
 public:
  /// Starts it and waits until it answers.
  /// @throws std::runtime_error
  MeasuredDaemon(const std::string& backend, const std::vector<std::string>& arguments);

  [[nodiscard]] std::string socket_path() const { return folder_.path() + "/overlapd.sock"; }
  [[nodiscard]] pid_t pid() const noexcept { return process_.pid(); }
  /// As it was when it started.
  [[nodiscard]] const StatusReply& first_status() const noexcept { return first_status_; }
  [[nodiscard]] bool is_cuda() const { return read_text(first_status_.backend) == "cuda"; }

  /// @throws std::runtime_error if it does not answer
  [[nodiscard]] StatusReply status() const;
  [[nodiscard]] DaemonCounters counters() const;
  /// Waits until no more than so many channels are attached: leaving takes the daemon a moment.
  /// @throws std::runtime_error if it takes too long
  void wait_for_channels(std::uint32_t at_most) const;

  /// @return its exit code
  int stop() { return process_.stop(); }

 private:
  TemporaryFolder folder_;
  ChildProcess process_;
  StatusReply first_status_{};
};

}  // namespace overlap::bench
