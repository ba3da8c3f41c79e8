#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Jobs = std::vector<std::vector<std::byte>>;

Jobs awkward_jobs(std::size_t jobs, std::size_t elements) {
  Jobs inputs;
  for (std::size_t job = 0; job < jobs; ++job) {
    inputs.push_back(
        awkward_input(ElementKind::f32, elements, static_cast<std::uint32_t>(job + 1)));
  }
  return inputs;
}

std::vector<float> output_of(KernelBatch& batch, std::size_t job) {
  return elements_of<float>(batch.output(job));
}

bool is_zero(std::span<const std::byte> bytes) {
  return std::ranges::all_of(bytes, [](std::byte byte) { return byte == std::byte{}; });
}

TEST(IntegrateKernel, EqualsTheReferenceForEverySizeAndOperation) {
  for (const std::string_view text :
       {"integrate:count=1", "integrate:count=1,op=mean", "integrate:count=2",
        "integrate:count=3,op=mean", "integrate:count=7"}) {
    for (const std::size_t elements : kAwkwardCounts) {
      KernelBatch sut(stage_of(text), awkward_jobs(8, elements));
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::f32)) << text << ", " << elements;
    }
  }
}

TEST(IntegrateKernel, EmitsTheSumWithTheLastJobAndNothingWithTheOthers) {
  KernelBatch sut(stage_of("integrate:count=3"),
                  {bytes_of<float>({1, 10}), bytes_of<float>({2, 20}), bytes_of<float>({4, 40}),
                   bytes_of<float>({8, 80}), bytes_of<float>({16, 160})});
  sut.run();
  EXPECT_TRUE(sut.output(0).empty());
  EXPECT_TRUE(sut.output(1).empty());
  EXPECT_EQ(output_of(sut, 2), (std::vector<float>{7, 70}));
  EXPECT_TRUE(sut.output(3).empty());
  EXPECT_TRUE(sut.output(4).empty());
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(IntegrateKernel, DividesTheSumByTheCountForAMean) {
  KernelBatch sut(
      stage_of("integrate:count=4,op=mean"),
      {bytes_of<float>({1}), bytes_of<float>({2}), bytes_of<float>({3}), bytes_of<float>({5})});
  sut.run();
  EXPECT_EQ(output_of(sut, 3), (std::vector<float>{2.75F}));
}

TEST(IntegrateKernel, GoesOnWhereTheBatchBeforeStopped) {
  KernelBatch sut(stage_of("integrate:count=5"), Jobs(3, bytes_of<float>({1, -2})));
  sut.run();
  for (std::size_t job = 0; job < 3; ++job) {
    EXPECT_TRUE(sut.output(job).empty()) << job;
  }
  sut.run();
  EXPECT_TRUE(sut.output(0).empty());
  EXPECT_EQ(output_of(sut, 1), (std::vector<float>{5, -10}));
  EXPECT_TRUE(sut.output(2).empty());
}

TEST(IntegrateKernel, BeginsAnewAfterAReset) {
  KernelBatch sut(stage_of("integrate:count=2"), {bytes_of<float>({3})});
  sut.run();
  sut.reset_state();
  sut.run();
  EXPECT_TRUE(sut.output(0).empty());
  sut.run();
  EXPECT_EQ(output_of(sut, 0), (std::vector<float>{6}));
}

TEST(IntegrateKernel, FailsAJobOfAnotherLengthAndBeginsAnewAfterIt) {
  KernelBatch sut(stage_of("integrate:count=2"),
                  {bytes_of<float>({1, 2, 3}), bytes_of<float>({10, 20}),
                   bytes_of<float>({100, 200}), bytes_of<float>({1000, 2000})});
  sut.run();
  EXPECT_EQ(sut.status(0), OVERLAP_ITEM_OK);
  EXPECT_EQ(sut.status(1), OVERLAP_ITEM_FAILED);
  EXPECT_TRUE(sut.output(1).empty());
  EXPECT_EQ(sut.status(2), OVERLAP_ITEM_OK);
  EXPECT_TRUE(sut.output(2).empty());
  EXPECT_EQ(output_of(sut, 3), (std::vector<float>{1100, 2200}));
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(IntegrateKernel, LeavesAStateOfZeroBytesAfterAFailure) {
  // The long sum is emitted first, so that the short one leaves some of it behind.
  KernelBatch sut(stage_of("integrate:count=2"),
                  {bytes_of<float>({1, 2, 3, 4}), bytes_of<float>({1, 2, 3, 4}),
                   bytes_of<float>({7, 8}), bytes_of<float>({9})});
  sut.run();
  EXPECT_EQ(sut.status(3), OVERLAP_ITEM_FAILED);
  EXPECT_TRUE(is_zero(sut.state()));
}

TEST(IntegrateKernel, TakesAnyLengthBetweenTwoSums) {
  KernelBatch sut(stage_of("integrate:count=2"),
                  {bytes_of<float>({1, 2, 3}), bytes_of<float>({1, 2, 3}), bytes_of<float>({5}),
                   bytes_of<float>({6})});
  sut.run();
  EXPECT_EQ(output_of(sut, 1), (std::vector<float>{2, 4, 6}));
  EXPECT_EQ(output_of(sut, 3), (std::vector<float>{11}));
  EXPECT_EQ(sut.status(3), OVERLAP_ITEM_OK);
}

TEST(IntegrateKernel, IsNotTouchedByAnEmptyJob) {
  KernelBatch sut(stage_of("integrate:count=2"),
                  {bytes_of<float>({1, 2}), {}, bytes_of<float>({3, 4})});
  sut.run();
  EXPECT_TRUE(sut.output(1).empty());
  EXPECT_EQ(sut.status(1), OVERLAP_ITEM_OK);
  EXPECT_EQ(output_of(sut, 2), (std::vector<float>{4, 6}));
}

TEST(IntegrateKernel, AddsInDoublePrecisionAndRoundsOnce) {
  // In f32, 2^24 + 1 would be 2^24 however often.
  KernelBatch sut(stage_of("integrate:count=4"), {bytes_of<float>({0x1p24F}), bytes_of<float>({1}),
                                                  bytes_of<float>({1}), bytes_of<float>({2})});
  sut.run();
  EXPECT_EQ(output_of(sut, 3), (std::vector<float>{0x1p24F + 4}));
}

TEST(IntegrateKernel, SumsAMillionJobs) {
  KernelBatch sut(stage_of("integrate:count=1000000,op=mean"),
                  Jobs(1000, bytes_of<float>({0.1F, -3})));
  for (int batch = 0; batch < 999; ++batch) {
    sut.run();
    ASSERT_TRUE(sut.output(999).empty()) << batch;
  }
  sut.run();
  EXPECT_EQ(output_of(sut, 999), (std::vector<float>{0.1F, -3}));
}

TEST(IntegrateKernel, KeepsTheSignOfZeroAndFollowsInfinities) {
  using Limits = std::numeric_limits<float>;
  KernelBatch sut(stage_of("integrate:count=2"),
                  {bytes_of<float>({-0.0F, Limits::infinity(), Limits::max(), 1, 0x1p-149F}),
                   bytes_of<float>({-0.0F, -Limits::infinity(), Limits::max(), Limits::quiet_NaN(),
                                    0x1p-149F})});
  sut.run();
  const std::vector<float> sums = output_of(sut, 1);
  ASSERT_EQ(sums.size(), 5U);
  EXPECT_TRUE(std::signbit(sums[0]));
  EXPECT_TRUE(std::isnan(sums[1]));
  EXPECT_EQ(sums[2], Limits::infinity());
  EXPECT_TRUE(std::isnan(sums[3]));
  EXPECT_EQ(sums[4], 0x1p-148F);
}

TEST(IntegrateKernel, PlansAllOrNothingAndAStateThatGrowsWithTheJob) {
  const Stage stage = stage_of("integrate");
  const Plan small = std::get<Plan>(stage.kernel->plan(stage.params, 4));
  const Plan large = std::get<Plan>(stage.kernel->plan(stage.params, 4000));
  EXPECT_EQ(large.output_size, OutputSize::all_or_nothing);
  EXPECT_EQ(large.max_output_bytes, 4000U);
  EXPECT_EQ(small.state_bytes, 64U + 8U);
  EXPECT_EQ(large.state_bytes, 64U + 8000U);
}

TEST(IntegrateKernel, RefusesALengthThatIsNoWholeElement) {
  EXPECT_EQ(refusal_of("integrate", 6),
            "6 bytes do not fit integrate: it takes whole granules of 4 bytes (one f32 element), "
            "and 2 bytes are left over; send 4 or 8 bytes");
}

TEST(IntegrateKernel, RefusesACountOutOfRange) {
  EXPECT_THROW((void)stage_of("integrate:count=0"), PipelineError);
  EXPECT_THROW((void)stage_of("integrate:count=1000001"), PipelineError);
  EXPECT_THROW((void)stage_of("integrate:op=median"), PipelineError);
}

}  // namespace
}  // namespace overlap::test
