#include "tests/bench/host_workload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>

namespace overlap::bench {
namespace {

/// A small batch of a kernel, and what it is made of.
struct Batch {
  Batch(const std::string& text, std::uint64_t job_bytes, std::uint32_t job_count,
        WorkloadData data, std::uint32_t jobs_per_output = 1)
      : kernels(KernelRegistry::with_builtin_kernels()),
        pipeline(Pipeline::parse(text, kernels)),
        parts{pipeline.stages().front(), layout_of(pipeline, job_bytes, job_count, jobs_per_output),
              data},
        sut(parts) {}

  KernelRegistry kernels;
  Pipeline pipeline;
  WorkloadParts parts;
  HostWorkload sut;
};

/// The inputs, as the pattern has them.
std::vector<std::byte> input(const WorkloadParts& parts, std::uint32_t index) {
  const std::vector<std::byte> pattern = workload_pattern(parts.data);
  std::vector<std::byte> bytes(parts.layout.input_bytes);
  for (std::size_t at = 0; at < bytes.size(); ++at) {
    bytes[at] = pattern[(parts.layout.input_offset_bytes(index) + at) % pattern.size()];
  }
  return bytes;
}

TEST(HostWorkload, RunsEveryJobOfTheBatch) {
  Batch batch("copy", 1000, 3, WorkloadData::bytes);
  batch.sut.run();
  for (std::uint32_t index = 0; index < 3; ++index) {
    EXPECT_TRUE(std::ranges::equal(batch.sut.output(index), input(batch.parts, index))) << index;
  }
}

TEST(HostWorkload, MakesWhatTheReferenceMakesWithATableAndState) {
  Batch batch("fir:taps=5", 64, 3, WorkloadData::f32);
  batch.sut.run();
  std::vector<std::byte> table = workload_pattern(WorkloadData::f32);
  table.resize(batch.parts.layout.table_bytes);
  std::vector<std::byte> state(batch.parts.layout.state_bytes);
  for (std::uint32_t index = 0; index < 3; ++index) {
    std::vector<std::byte> expected(64);
    batch.parts.stage.kernel->reference(
        {batch.parts.stage.params, input(batch.parts, index), expected, table, state});
    EXPECT_TRUE(std::ranges::equal(batch.sut.output(index), expected)) << index;
  }
}

TEST(HostWorkload, HasTheOutputsThatTheLayoutCounts) {
  Batch batch("integrate:count=4", 256, 8, WorkloadData::f32, 4);
  batch.sut.run();
  std::uint64_t written = 0;
  for (std::uint32_t index = 0; index < 8; ++index) {
    written += batch.sut.output(index).size();
  }
  EXPECT_EQ(written, 2U * 256);
  EXPECT_EQ(batch.parts.layout.moved_bytes(), 8 * 256 + written);
}

TEST(HostWorkload, TakesTimeForTheKernelAndForTheCopyAtLeastOnce) {
  Batch batch("scale", 4096, 2, WorkloadData::f32);
  EXPECT_GT(batch.sut.kernel_seconds(std::chrono::nanoseconds(0)), 0);
  EXPECT_GT(batch.sut.copy_seconds(std::chrono::nanoseconds(0)), 0);
  EXPECT_FALSE(batch.sut.library_seconds(std::chrono::nanoseconds(0)));
}

TEST(HostWorkload, RunsAfterACopyOverItsInputs) {
  Batch batch("histogram:type=f32,bins=16", 1 << 16, 2, WorkloadData::f32);
  static_cast<void>(batch.sut.copy_seconds(std::chrono::nanoseconds(0)));
  batch.sut.run();
  EXPECT_EQ(batch.sut.output(1).size(), 64U);
}

}  // namespace
}  // namespace overlap::bench
