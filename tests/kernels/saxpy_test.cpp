#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Floats = std::vector<float>;

TEST(SaxpyKernel, EqualsTheReferenceForEveryFactorAndSize) {
  for (const std::string text : {"saxpy", "saxpy:a=0", "saxpy:a=-0.1", "saxpy:a=3e38",
                                 "saxpy:a=1e-45", "saxpy:a=1.000244140625"}) {
    for (const std::size_t count : kAwkwardCounts) {
      KernelBatch sut(stage_of(text), {awkward_input(ElementKind::f32, 2 * count)});
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::f32)) << text << ", " << count << " elements";
    }
  }
}

TEST(SaxpyKernel, RunsJobsOfDifferentSizesInOneBatch) {
  KernelBatch sut(stage_of("saxpy:a=-3"), {awkward_input(ElementKind::f32, 2 * 257, 1),
                                           {},
                                           awkward_input(ElementKind::f32, 2, 2),
                                           awkward_input(ElementKind::f32, 2 * 4097, 3)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(SaxpyKernel, ReferenceAddsTheScaledFirstHalfToTheSecond) {
  EXPECT_EQ(elements_of<float>(reference_of("saxpy:a=2", bytes_of(Floats{1, 2, 3, 10, 20, 30}))),
            (Floats{12, 24, 36}));
}

TEST(SaxpyKernel, RoundsTwiceAndNeverFuses) {
  // (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24, a tie that rounds to 1 + 2^-11: taking that away again
  // leaves 0; fused it would leave 2^-24.
  Floats input(67, 1.000244140625F);
  input.insert(input.end(), 67, -1.00048828125F);
  KernelBatch sut(stage_of("saxpy:a=1.000244140625"), {bytes_of(input)});
  sut.run();
  EXPECT_EQ(elements_of<float>(sut.output(0)), Floats(67, 0.0F));
  EXPECT_EQ(elements_of<float>(reference_of("saxpy:a=1.000244140625", bytes_of(input))),
            Floats(67, 0.0F));
}

TEST(SaxpyKernel, RefusesALengthThatIsNoWholePair) {
  EXPECT_EQ(
      refusal_of("saxpy", 12),
      "12 bytes do not fit saxpy: it takes whole granules of 8 bytes (one f32 element of each "
      "of the two arrays), and 4 bytes are left over; send 8 or 16 bytes");
  EXPECT_EQ(refusal_of("saxpy", 16), "");
}

TEST(SaxpyKernel, RefusesAChannelsFactorThatIsInfiniteInSinglePrecision) {
  EXPECT_THROW((void)stage_of("saxpy:a=1e39"), PipelineError);
  EXPECT_NO_THROW((void)stage_of("saxpy:a=-3.4e38"));
}

TEST(SaxpyKernel, TakesAJobsFactorThatIsInfiniteInSinglePrecisionAsInfinite) {
  Stage stage = stage_of("saxpy");
  ASSERT_TRUE(stage.kernel->parameters()[0].per_job);
  KernelBatch sut(stage, {bytes_of(Floats{1, -1, 0, 5, 5, 5})});
  sut.give_jobs({{.f64 = 1e39}});
  sut.run();
  const Floats result = elements_of<float>(sut.output(0));
  EXPECT_EQ(result[0], std::numeric_limits<float>::infinity());
  EXPECT_EQ(result[1], -std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(result[2])) << "infinity times zero";
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

}  // namespace
}  // namespace overlap::test
