#include "tests/bench/workload_layout.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <stdexcept>
#include <string>

namespace overlap::bench {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

WorkloadLayout layout_for(const std::string& text, std::uint64_t most_job_bytes,
                          std::uint32_t job_count, std::uint32_t jobs_per_output = 1) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  return layout_of(Pipeline::parse(text, kernels), most_job_bytes, job_count, jobs_per_output);
}

TEST(WorkloadLayout, CountsInputsAndOutputsOfAMap) {
  EXPECT_EQ(layout_for("copy", kMiB, 1).moved_bytes(), 2 * kMiB);
  EXPECT_EQ(layout_for("copy", kMiB, 16).moved_bytes(), 32 * kMiB);
}

TEST(WorkloadLayout, CountsTwoArraysReadAndOneWritten) {
  EXPECT_EQ(layout_for("vector_add", 2 * kMiB, 4).moved_bytes(), 12 * kMiB);
  EXPECT_EQ(layout_for("saxpy", 2 * kMiB, 4).moved_bytes(), 12 * kMiB);
}

TEST(WorkloadLayout, CountsOutputsThatAreLargerOrSmaller) {
  EXPECT_EQ(layout_for("convert:from=u8,to=f32", kMiB, 2).moved_bytes(), 10 * kMiB);
  EXPECT_EQ(layout_for("power_spectrum", kMiB, 2).moved_bytes(), 3 * kMiB);
  EXPECT_EQ(layout_for("reduce", kMiB, 2).moved_bytes(), 2 * (kMiB + 8));
  EXPECT_EQ(layout_for("reduce:length=1024", kMiB, 2).moved_bytes(), 2 * (kMiB + 256 * 8));
  EXPECT_EQ(layout_for("histogram", kMiB, 3).moved_bytes(), 3 * (kMiB + 256 * 4));
}

TEST(WorkloadLayout, CountsTheTableOnceABatch) {
  EXPECT_EQ(layout_for("lut:channels=1", kMiB, 8).moved_bytes(), 16 * kMiB + 256);
  EXPECT_EQ(layout_for("fir:taps=64", kMiB, 8).moved_bytes(), 16 * kMiB + 64 * 4);
}

TEST(WorkloadLayout, CountsOneOutputForSeveralJobs) {
  EXPECT_EQ(layout_for("integrate:count=16", kMiB, 16, 16).moved_bytes(), 17 * kMiB);
  EXPECT_EQ(layout_for("integrate:count=16", kMiB, 256, 16).moved_bytes(), 272 * kMiB);
}

TEST(WorkloadLayout, CountsTheMeanWhereABatchIsPartOfASum) {
  EXPECT_EQ(layout_for("integrate:count=16", kMiB, 2, 16).moved_bytes(), 2 * kMiB + kMiB / 8);
}

TEST(WorkloadLayout, TakesAsMuchInputAsWholeFramesFill) {
  const WorkloadLayout sut = layout_for("grayscale:width=10,height=10,channels=3", 1000, 1);
  EXPECT_EQ(sut.input_bytes, 900U);
  EXPECT_EQ(sut.output_bytes, 300U);
  EXPECT_EQ(sut.moved_bytes(), 1200U);
}

TEST(WorkloadLayout, RefusesAShapeThatIsLargerThanTheJob) {
  try {
    static_cast<void>(layout_for("sobel:width=100,height=100", 9999, 1));
    FAIL() << "9999 bytes hold no frame";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("sobel:width=100,height=100"), std::string::npos);
  }
}

TEST(WorkloadLayout, KeepsEveryPlaceAlignedAndApart) {
  const WorkloadLayout sut = layout_for("grayscale:width=7,height=5,channels=3", 105, 3);
  std::uint64_t end = sut.table_bytes;
  for (const bool is_output : {false, true}) {
    for (std::uint32_t index = 0; index < sut.job_count; ++index) {
      const std::uint64_t offset =
          is_output ? sut.output_offset_bytes(index) : sut.input_offset_bytes(index);
      EXPECT_EQ(offset % 256, 0U);
      EXPECT_GE(offset, end);
      end = offset + (is_output ? sut.output_bytes : sut.input_bytes);
    }
  }
  EXPECT_GE(sut.arena_bytes(), end);
}

TEST(WorkloadLayout, CopiesWithinItsMemoryAsMuchAsTheKernelMoves) {
  for (const char* const text : {"copy", "reduce", "lut:channels=1", "convert:from=u8,to=f32"}) {
    for (const std::uint64_t job_bytes : {std::uint64_t{4}, std::uint64_t{260}, kMiB}) {
      const WorkloadLayout sut = layout_for(text, job_bytes, 3);
      EXPECT_LE(sut.moved_bytes() - 2 * sut.copied_bytes(), 1U) << text;
      EXPECT_GE(sut.copy_offset_bytes(), sut.copied_bytes()) << text;
      EXPECT_LE(sut.copy_offset_bytes() + sut.copied_bytes(), sut.arena_bytes()) << text;
    }
  }
}

TEST(WorkloadLayout, GivesItemsTheirPlaces) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const Pipeline pipeline = Pipeline::parse("fir:taps=3", kernels);
  const WorkloadLayout layout = layout_of(pipeline, 400, 2, 1);
  std::vector<std::byte> arena(layout.arena_bytes());
  std::vector<std::byte> state(layout.state_bytes);
  std::vector<JobReport> reports(2);
  const overlap_batch_item sut =
      item_of(layout, pipeline.stages().front(), {arena.data(), state.data(), reports.data()}, 1);
  EXPECT_EQ(sut.table, arena.data());
  EXPECT_EQ(sut.table_bytes, 12U);
  EXPECT_EQ(sut.input, arena.data() + 256 + 512);
  EXPECT_EQ(sut.input_bytes, 400U);
  EXPECT_EQ(sut.output, arena.data() + 256 + 1024 + 512);
  EXPECT_EQ(sut.output_capacity_bytes, 400U);
  EXPECT_EQ(sut.state, state.data());
  EXPECT_EQ(sut.output_bytes, &reports[1].output_bytes);
  EXPECT_EQ(sut.status, &reports[1].status);
}

TEST(WorkloadLayout, GivesNoTableAndNoStateToAKernelWithoutThem) {
  const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const Pipeline pipeline = Pipeline::parse("copy", kernels);
  const WorkloadLayout layout = layout_of(pipeline, 400, 1, 1);
  std::vector<std::byte> arena(layout.arena_bytes());
  JobReport report;
  const overlap_batch_item sut =
      item_of(layout, pipeline.stages().front(), {arena.data(), arena.data(), &report}, 0);
  EXPECT_EQ(sut.table, nullptr);
  EXPECT_EQ(sut.state, nullptr);
}

TEST(WorkloadPattern, HasNumbersFromZeroToOneForF32) {
  const std::vector<std::byte> sut = workload_pattern(WorkloadData::f32);
  float least = 1;
  float most = 0;
  for (std::size_t at = 0; at < sut.size(); at += sizeof(float)) {
    float value = 0;
    std::memcpy(&value, sut.data() + at, sizeof value);
    ASSERT_TRUE(value >= 0 && value < 1) << value;
    least = std::min(least, value);
    most = std::max(most, value);
  }
  EXPECT_LT(least, 0.001F);
  EXPECT_GT(most, 0.999F);
}

TEST(WorkloadPattern, HasNoInfiniteHalves) {
  const std::vector<std::byte> sut = workload_pattern(WorkloadData::f16);
  for (std::size_t at = 0; at < sut.size(); at += 2) {
    std::uint16_t bits = 0;
    std::memcpy(&bits, sut.data() + at, sizeof bits);
    ASSERT_NE(bits & 0x7c00U, 0x7c00U);
  }
}

TEST(WorkloadPattern, IsTheSameEveryTimeAndNotTheSameForOtherData) {
  EXPECT_EQ(workload_pattern(WorkloadData::bytes), workload_pattern(WorkloadData::bytes));
  EXPECT_NE(workload_pattern(WorkloadData::bytes), workload_pattern(WorkloadData::f32));
}

}  // namespace
}  // namespace overlap::bench
