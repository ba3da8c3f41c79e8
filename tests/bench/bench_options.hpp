#pragma once

#include <chrono>
#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace overlap::bench {

/// One thing that can be measured.
struct ScenarioName {
  const char* name;
  const char* summary;
  bool by_default;
};

/// All of them, in the order in which they run.
[[nodiscard]] const std::vector<ScenarioName>& scenario_names();

/// What a run measures, and how.
struct BenchOptions {
  bool help = false;
  std::vector<std::string> scenarios;
  std::vector<std::uint64_t> slot_sizes;
  /// The first is the one of the peers and of the plot.
  std::vector<std::uint32_t> producer_counts;
  /// Input bytes that a producer spreads its slots over.
  std::uint64_t bytes_per_producer = 0;
  /// Channel memory of all producers of a measurement together; 0: what the machine can spare.
  std::uint64_t max_memory_bytes = 0;
  std::chrono::milliseconds round{};
  std::uint32_t round_count = 0;
  std::chrono::milliseconds idle{};
  std::vector<std::uint64_t> latency_sizes;
  std::uint32_t idle_channel_count = 0;
  /// Channel memory, input and output together, that comes and goes beside a steady producer.
  std::uint64_t attach_bytes = 0;
  std::uint64_t greedy_slot_bytes = 0;
  /// How long a kernel of the long ones runs.
  std::chrono::milliseconds long_kernel{};
  std::uint64_t textbook_elements = 0;
  std::uint32_t textbook_repeat = 0;
  /// Input bytes of a slot through which the daemon gets the textbook's work.
  std::uint64_t textbook_slot_bytes = 0;
  std::vector<std::uint32_t> textbook_streams;
  std::vector<std::uint64_t> dataloader_sizes;
  std::vector<std::uint32_t> dataloader_batches;
  std::uint32_t dataloader_workers = 0;
  std::string python;
  /// How long a kernel is repeated in a round of the scenario 'kernels'.
  std::chrono::milliseconds kernel_round{};
  /// Names of the kernels that it measures; empty: all.
  std::vector<std::string> only_kernels;
  /// auto, cuda or host.
  std::string backend;
  /// Empty: none is written.
  std::string json_file;
  std::string svg_file;
  std::vector<std::string> daemon_arguments;

  [[nodiscard]] bool wants(const std::string& scenario) const;
};

/// Reads the command line; what stands behind `--` belongs to overlapd.
/// @param arguments without the program's name
/// @throws std::runtime_error that names the option and what is wrong with it
[[nodiscard]] BenchOptions read_bench_options(const std::vector<std::string>& arguments);

/// The text of `--help`.
void print_bench_help(std::ostream& out);

/// A size in whole 4-byte elements.
/// @throws std::runtime_error for anything else
[[nodiscard]] std::uint64_t read_size(const std::string& text);

}  // namespace overlap::bench
