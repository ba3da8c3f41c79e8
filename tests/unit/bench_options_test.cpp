#include "tests/bench/bench_options.hpp"

#include "tests/bench/report_json.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace overlap::bench {
namespace {

using Words = std::vector<std::string>;

/// What is said about a command line that cannot be read.
std::string refusal(const Words& arguments) {
  try {
    static_cast<void>(read_bench_options(arguments));
  } catch (const std::exception& error) {
    return error.what();
  }
  return "nothing is wrong";
}

TEST(BenchOptions, WithoutWordsMeasureWhatIsUsual) {
  const BenchOptions sut = read_bench_options({});
  EXPECT_EQ(sut.scenarios, (Words{"throughput", "latency", "idle"}));
  EXPECT_EQ(sut.producer_counts, std::vector<std::uint32_t>{4});
  EXPECT_EQ(sut.slot_sizes.front(), 64U);
  EXPECT_EQ(sut.slot_sizes.back(), 64U << 20U);
  EXPECT_EQ(sut.backend, "auto");
  EXPECT_TRUE(sut.json_file.empty());
  EXPECT_TRUE(sut.daemon_arguments.empty());
}

TEST(BenchOptions, TakeSizesAndCounts) {
  const BenchOptions sut =
      read_bench_options({"--slot-bytes", "64KiB", "4MiB", "--producers", "1", "4", "64",
                          "--bytes-per-producer", "256MiB", "--rounds", "9", "--round-ms", "400"});
  EXPECT_EQ(sut.slot_sizes, (std::vector<std::uint64_t>{64U << 10U, 4U << 20U}));
  EXPECT_EQ(sut.producer_counts, (std::vector<std::uint32_t>{1, 4, 64}));
  EXPECT_EQ(sut.bytes_per_producer, 256U << 20U);
  EXPECT_EQ(sut.round_count, 9U);
  EXPECT_EQ(sut.round, std::chrono::milliseconds(400));
}

TEST(BenchOptions, LeaveWhatStandsBehindTwoDashesToTheDaemon) {
  const BenchOptions sut = read_bench_options({"--rounds", "2", "--", "--lanes", "8", "--help"});
  EXPECT_EQ(sut.daemon_arguments, (Words{"--lanes", "8", "--help"}));
  EXPECT_FALSE(sut.help);
}

TEST(BenchOptions, QuickIsSmallerButNotWhereSomethingIsNamed) {
  const BenchOptions whole = read_bench_options({});
  const BenchOptions sut = read_bench_options({"--quick", "--rounds", "5"});
  EXPECT_EQ(sut.round_count, 5U);
  EXPECT_LT(sut.round, whole.round);
  EXPECT_LT(sut.slot_sizes.size(), whole.slot_sizes.size());
  EXPECT_LT(sut.idle_channel_count, whole.idle_channel_count);
  EXPECT_LT(sut.attach_bytes, whole.attach_bytes);
  EXPECT_LT(sut.textbook_elements, whole.textbook_elements);
}

TEST(BenchOptions, TakeScenariosByCommasAndBySpaces) {
  const BenchOptions sut = read_bench_options({"--scenarios", "latency,attach", "idle"});
  EXPECT_EQ(sut.scenarios, (Words{"latency", "attach", "idle"}));
  EXPECT_TRUE(sut.wants("attach"));
  EXPECT_FALSE(sut.wants("throughput"));
}

TEST(BenchOptions, TakeAllScenarios) {
  const BenchOptions sut = read_bench_options({"--scenarios", "all"});
  for (const ScenarioName& scenario : scenario_names()) {
    EXPECT_TRUE(sut.wants(scenario.name)) << scenario.name;
  }
}

TEST(BenchOptions, RefuseAndNameWhatIsWrong) {
  const std::vector<std::pair<Words, std::string>> cases = {
      {{"--bogus", "1"}, "--bogus"},
      {{"--round", "1"}, "--round"},
      {{"--slot-bytes", "3"}, "--slot-bytes"},
      {{"--slot-bytes", "0"}, "--slot-bytes"},
      {{"--slot-bytes", "1MB"}, "--slot-bytes"},
      {{"--producers", "0"}, "--producers"},
      {{"--producers", "-1"}, "--producers"},
      {{"--producers", "many"}, "--producers"},
      {{"--rounds", "0"}, "--rounds"},
      {{"--round-ms", "0"}, "--round-ms"},
      {{"--scenarios", "speed"}, "speed"},
      {{"--scenarios", "latency,"}, "--scenarios"},
      {{"--backend", "tpu"}, "tpu"},
      {{"--attach-bytes", "x"}, "--attach-bytes"},
      {{"--kernel-ms", "0"}, "--kernel-ms"},
      {{"--only", "fir", "--scenarios", "latency"}, "--only"},
      {{"--svg", "a.svg", "--scenarios", "latency"}, "--svg"},
  };
  for (const auto& [arguments, wanted] : cases) {
    EXPECT_NE(refusal(arguments).find(wanted), std::string::npos)
        << arguments.front() << ": " << refusal(arguments);
  }
}

TEST(BenchOptions, TakeTheKernelsToMeasure) {
  EXPECT_TRUE(read_bench_options({"--scenarios", "kernels"}).only_kernels.empty());
  const BenchOptions sut =
      read_bench_options({"--scenarios", "kernels", "--only", "fir", "lut", "--kernel-ms", "50"});
  EXPECT_EQ(sut.only_kernels, (Words{"fir", "lut"}));
  EXPECT_EQ(sut.kernel_round, std::chrono::milliseconds(50));
}

TEST(BenchOptions, TakeAFileForJsonWhereItCanBeWritten) {
  if (!can_write_json()) {
    EXPECT_NE(refusal({"--json", "a.json"}).find("--json"), std::string::npos);
    return;
  }
  EXPECT_EQ(read_bench_options({"--json", "a.json"}).json_file, "a.json");
}

TEST(BenchOptions, HelpNamesEveryScenario) {
  std::ostringstream text;
  print_bench_help(text);
  for (const ScenarioName& scenario : scenario_names()) {
    EXPECT_NE(text.str().find(scenario.name), std::string::npos) << scenario.name;
  }
  EXPECT_TRUE(read_bench_options({"--help"}).help);
}

}  // namespace
}  // namespace overlap::bench
