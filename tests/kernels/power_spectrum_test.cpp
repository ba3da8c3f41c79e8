#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

std::vector<float> reference_on(std::string_view text, const std::vector<float>& input) {
  return elements_of<float>(reference_of(text, bytes_of(input)));
}

TEST(PowerSpectrumKernel, EqualsTheReferenceForEverySizeAndFactor) {
  for (const std::string_view text : {"power_spectrum", "power_spectrum:scale=0.1",
                                      "power_spectrum:scale=-3e38", "power_spectrum:scale=1e-42"}) {
    for (const std::size_t count : kAwkwardCounts) {
      KernelBatch sut(stage_of(text), {awkward_input(ElementKind::f32, 2 * count)});
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::f32)) << text << ", " << count << " samples";
    }
  }
}

TEST(PowerSpectrumKernel, RunsJobsOfDifferentSizesInOneBatch) {
  KernelBatch sut(stage_of("power_spectrum:scale=0.5"), {awkward_input(ElementKind::f32, 2, 1),
                                                         {},
                                                         awkward_input(ElementKind::f32, 514, 2),
                                                         awkward_input(ElementKind::f32, 32, 3)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(PowerSpectrumKernel, ReferenceAddsTheSquaresAndScales) {
  EXPECT_EQ(reference_on("power_spectrum", {3, 4, -5, 0, 0, -0.5F}),
            (std::vector<float>{25, 25, 0.25F}));
  EXPECT_EQ(reference_on("power_spectrum:scale=-2", {3, 4}), (std::vector<float>{-50}));
}

TEST(PowerSpectrumKernel, RoundsEverySquareAndNeverFuses) {
  // (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24, which rounds to 1 + 2^-11; the sum with 2^-48 stays there.
  // Fused, the 2^-24 and the 2^-48 would meet before rounding and tip the tie upwards.
  const std::vector<float> input = {0x1p-24F, 0x1.001p0F};
  EXPECT_EQ(reference_on("power_spectrum", input), (std::vector<float>{0x1.002p0F}));
  KernelBatch sut(stage_of("power_spectrum"), {bytes_of(input)});
  sut.run();
  EXPECT_EQ(elements_of<float>(sut.output(0)), (std::vector<float>{0x1.002p0F}));
}

TEST(PowerSpectrumKernel, ReferenceKeepsInfinitiesDenormalsAndNaN) {
  using Limits = std::numeric_limits<float>;
  const auto result =
      reference_on("power_spectrum", {Limits::infinity(), 1, Limits::max(), 0, 0x1p-74F, 0x1p-75F,
                                      Limits::quiet_NaN(), Limits::infinity()});
  ASSERT_EQ(result.size(), 4U);
  EXPECT_EQ(result[0], Limits::infinity());
  EXPECT_EQ(result[1], Limits::infinity());
  EXPECT_EQ(result[2], 0x1p-148F);
  EXPECT_TRUE(std::isnan(result[3]));
}

TEST(PowerSpectrumKernel, RefusesALengthThatIsNoWholeSample) {
  EXPECT_EQ(refusal_of("power_spectrum", 12),
            "12 bytes do not fit power_spectrum: it takes whole granules of 8 bytes (one complex "
            "f32 sample), and 4 bytes are left over; send 8 or 16 bytes");
}

TEST(PowerSpectrumKernel, RefusesAFactorThatIsInfiniteInSinglePrecision) {
  EXPECT_THROW((void)stage_of("power_spectrum:scale=1e39"), PipelineError);
  EXPECT_NO_THROW((void)stage_of("power_spectrum:scale=3.4e38"));
}

TEST(PowerSpectrumKernel, LetsAJobBringItsOwnScale) {
  EXPECT_TRUE(stage_of("power_spectrum").kernel->parameters()[0].per_job);
}

}  // namespace
}  // namespace overlap::test
