#include "tests/bench/process_fleet.hpp"

#include "shared/monotonic_clock.hpp"

#include <algorithm>
#include <stdexcept>

namespace overlap::bench {
namespace {

/// A round's length, attaching a GiB, or a kernel of another producer: nothing takes that long.
constexpr std::chrono::minutes kAnswerLimit{2};

/// Until every process has read its command.
constexpr std::chrono::microseconds kLead{1000};
constexpr std::chrono::microseconds kLeadOfEach{100};

void expect(ChildProcess& process, const std::string& wanted) {
  const std::string line = process.read_line(kAnswerLimit);
  if (line != wanted) {
    throw std::runtime_error("a child process says: " + line);
  }
}

}  // namespace

ProcessFleet::ProcessFleet(std::uint32_t count, RoleOptions role) {
  for (std::uint32_t i = 0; i < count; ++i) {
    role.index = i;
    std::vector<std::string> command = role.to_arguments();
    command.insert(command.begin(), program_path("overlap-bench"));
    processes_.emplace_back(command);
  }
  for (ChildProcess& process : processes_) {
    expect(process, "ready");
  }
}

FleetOutcome ProcessFleet::run(std::uint32_t count, std::chrono::milliseconds duration,
                               const std::string& how) {
  start(count, duration, how);
  return finish();
}

void ProcessFleet::start(std::uint32_t count, std::chrono::milliseconds duration,
                         const std::string& how) {
  running_ = std::min(count, size());
  for (std::uint32_t i = 0; i < running_; ++i) {
    processes_[i].write_line("prepare");
  }
  for (std::uint32_t i = 0; i < running_; ++i) {
    expect(processes_[i], "prepared");
  }
  const auto lead = kLead + running_ * kLeadOfEach;
  const std::uint64_t start_ns =
      monotonic_now_ns() + static_cast<std::uint64_t>(std::chrono::nanoseconds(lead).count());
  const std::string command =
      "run " + std::to_string(start_ns) + " " + std::to_string(duration.count()) + " " + how;
  for (std::uint32_t i = 0; i < running_; ++i) {
    processes_[i].write_line(command);
  }
}

FleetOutcome ProcessFleet::finish() {
  FleetOutcome fleet;
  for (std::uint32_t i = 0; i < running_; ++i) {
    const RoundOutcome outcome = RoundOutcome::from_line(processes_[i].read_line(kAnswerLimit));
    fleet.jobs_per_second += static_cast<double>(outcome.jobs) / outcome.seconds;
    fleet.seconds = std::max(fleet.seconds, outcome.seconds);
    fleet.jobs += outcome.jobs;
    fleet.latency.add(outcome.latency);
  }
  running_ = 0;
  return fleet;
}

}  // namespace overlap::bench
