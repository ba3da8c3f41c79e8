// overlap-bench: the ceiling of this machine, the daemon and what people use instead, in turns, in
// one run.

#include "tests/bench/bench.hpp"
#include "tests/bench/interruption.hpp"
#include "tests/bench/machine_facts.hpp"
#include "tests/bench/message_peers.hpp"
#include "tests/bench/report_json.hpp"
#include "tests/bench/report_svg.hpp"
#include "tests/bench/role.hpp"

#include <sys/resource.h>
#include <algorithm>
#include <cstdio>
#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>

namespace overlap::bench {
namespace {

constexpr std::uint64_t kMostMemoryBytes = std::uint64_t{12} << 30U;
constexpr std::uint64_t kLeastMemoryBytes = std::uint64_t{256} << 20U;
constexpr int kInterruptedCode = 130;

int play_role(const std::vector<std::string>& arguments) {
  return serve_role([&]() -> std::unique_ptr<Role> {
    const RoleOptions options = RoleOptions::from_arguments(arguments);
    if (options.role == "producer") {
      return make_producer_role(options);
    }
    if (options.role == "latency") {
      return make_latency_role(options);
    }
    if (options.role == "idle") {
      return make_idle_role(options);
    }
    if (options.role == "attacher") {
      return make_attacher_role(options);
    }
    if (options.role == "textbook") {
      return make_textbook_role(options);
    }
    if (auto peer = make_message_peer_role(options)) {
      return peer;
    }
    throw std::runtime_error("there is no role '" + options.role + "'");
  });
}

/// The daemon with its thousand channels, and this program's pipes: what is allowed is used.
void raise_descriptor_limit() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

/// Opens a file that will be written at the end, so that a wrong name does not cost a whole run.
std::ofstream open_output(const std::string& file) {
  std::ofstream out;
  if (!file.empty()) {
    out.open(file);
    if (!out) {
      throw std::runtime_error("cannot write " + file);
    }
  }
  return out;
}

/// @throws std::runtime_error if there is nothing to draw, or no room
void write_results(const Report& report, std::ofstream& json, std::ofstream& svg) {
  if (json.is_open() && !(json << to_json(report) << std::flush)) {
    throw std::runtime_error("the results could not be written");
  }
  if (svg.is_open() && !(svg << to_svg(report) << std::flush)) {
    throw std::runtime_error("the plot could not be written");
  }
}

void add_facts(Report& report, const MeasuredDaemon& daemon, const BenchOptions& options,
               const std::string& command) {
  for (const auto& [name, value] : machine_facts()) {
    report.add_fact(name, value);
  }
  const StatusReply& status = daemon.first_status();
  report.add_fact("overlapd", std::string(read_text(status.version)));
  report.add_fact("backend", std::string(read_text(status.backend)));
  report.add_fact("device", std::string(read_text(status.device)));
  report.add_fact("command", command);
  report.add_fact("rounds", std::to_string(options.round_count) + " of " +
                                std::to_string(options.round.count()) +
                                " ms in turns, medians; GB are 10^9 bytes of input a second");
}

/// @return false if one of them failed: the others' results are still worth having
bool measure(Bench& bench) {
  bool good = true;
  using Measure = void (*)(Bench&);
  const std::vector<std::pair<const char*, Measure>> scenarios = {
      {"throughput", measure_throughput},
      {"filling", measure_filling},
      {"latency", measure_latency},
      {"idle-channels", measure_idle_channels},
      {"fairness", measure_fairness},
      {"attach", measure_attach},
      {"messages", measure_message_peers},
      {"textbook", measure_textbook},
      {"dataloader", measure_dataloader},
      {"kernels", measure_kernels},
      {"idle", measure_idle},
  };
  for (const auto& [name, measure_it] : scenarios) {
    if (!bench.options.wants(name)) {
      continue;
    }
    try {
      // What the last one attached has been given back.
      bench.daemon.wait_for_channels(0);
      measure_it(bench);
    } catch (const Interrupted&) {
      throw;
    } catch (const std::exception& error) {
      throw_if_interrupted();
      good = false;
      bench.report.add_note(std::string("failed: ") + name + ": " + error.what());
    }
  }
  return good;
}

int run(const BenchOptions& options, const std::string& command) {
  std::ofstream json = open_output(options.json_file);
  std::ofstream svg = open_output(options.svg_file);
  raise_descriptor_limit();
  Report report(std::cout);
  MeasuredDaemon daemon(options.backend, options.daemon_arguments);
  add_facts(report, daemon, options, command);
  // In whole MiB, for people who read it.
  const std::uint64_t spare =
      std::clamp(available_memory_bytes() / 6, kLeastMemoryBytes, kMostMemoryBytes) >> 20U << 20U;
  Bench bench{options, daemon, report,
              options.max_memory_bytes != 0 ? options.max_memory_bytes : spare};
  bool good = false;
  try {
    good = measure(bench);
  } catch (const Interrupted&) {
    report.add_note("interrupted: what follows was not measured");
    write_results(report, json, svg);
    throw;
  }
  const int code = daemon.stop();
  write_results(report, json, svg);
  if (code != 0) {
    throw std::runtime_error("overlapd ended with " + std::to_string(code));
  }
  return good ? 0 : 1;
}

int run_command_line(const std::vector<std::string>& arguments) {
  if (RoleOptions::are_meant(arguments)) {
    return play_role(arguments);
  }
  const BenchOptions options = read_bench_options(arguments);
  if (options.help) {
    print_bench_help(std::cout);
    return 0;
  }
  std::string command = "overlap-bench";
  for (const std::string& argument : arguments) {
    command += " " + argument;
  }
  catch_interruptions();
  return run(options, command);
}

}  // namespace
}  // namespace overlap::bench

int main(int argc, char** argv) {
  try {
    return overlap::bench::run_command_line({argv + 1, argv + argc});
  } catch (const overlap::bench::Interrupted&) {
    std::fprintf(stderr, "overlap-bench: interrupted\n");
    return overlap::bench::kInterruptedCode;
  } catch (const std::exception& error) {
    // A child that was stopped together with this program is no failure of its own.
    const bool interrupted = overlap::bench::is_interrupted();
    std::fprintf(stderr, "overlap-bench: %s\n", interrupted ? "interrupted" : error.what());
    return interrupted ? overlap::bench::kInterruptedCode : 1;
  }
}
