#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Jobs = std::vector<std::vector<std::byte>>;

/// The signal cut into jobs of these numbers of floats, in turn until it ends.
Jobs cut(const std::vector<std::byte>& signal, const std::vector<std::size_t>& floats) {
  Jobs jobs;
  std::size_t at = 0;
  while (at < signal.size()) {
    const std::size_t bytes =
        std::min(floats[jobs.size() % floats.size()] * sizeof(float), signal.size() - at);
    jobs.emplace_back(signal.begin() + static_cast<std::ptrdiff_t>(at),
                      signal.begin() + static_cast<std::ptrdiff_t>(at + bytes));
    at += bytes;
  }
  return jobs;
}

std::vector<float> outputs_of(KernelBatch& batch, std::size_t jobs) {
  std::vector<float> all;
  for (std::size_t job = 0; job < jobs; ++job) {
    for (const float y : elements_of<float>(batch.output(job))) {
      all.push_back(y);
    }
  }
  return all;
}

std::vector<float> filtered(std::string_view text, const std::vector<float>& taps,
                            const std::vector<float>& signal) {
  const Stage stage = stage_of(text);
  const Plan plan = std::get<Plan>(stage.kernel->plan(stage.params, signal.size() * sizeof(float)));
  std::vector<std::byte> output(plan.max_output_bytes);
  std::vector<std::byte> state(plan.state_bytes);
  const std::uint64_t bytes =
      stage.kernel->reference({stage.params, std::as_bytes(std::span(signal)), output,
                               std::as_bytes(std::span(taps)), state});
  return elements_of<float>(std::span(output).first(bytes));
}

TEST(FirKernel, EqualsTheReferenceForEverySizeAndNumberOfTaps) {
  for (const std::size_t taps : {1U, 2U, 3U, 15U, 64U, 65U, 300U}) {
    for (const std::string_view type : {"f32", "c32"}) {
      const std::size_t lanes = type == "c32" ? 2 : 1;
      const std::string text = "fir:taps=" + std::to_string(taps) + ",type=" + std::string(type);
      for (const std::size_t samples : kAwkwardCounts) {
        if (samples > 5000 && taps != 15) {
          continue;
        }
        KernelBatch sut(stage_of(text), {awkward_input(ElementKind::f32, lanes * samples)},
                        awkward_input(ElementKind::f32, taps, 7));
        sut.run();
        ASSERT_TRUE(sut.matches_reference(ElementKind::f32)) << text << ", " << samples;
      }
    }
  }
}

TEST(FirKernel, EqualsTheReferenceForSignalsWithoutAwkwardValues) {
  // Where nothing is infinite or NaN, every bit of every output says something.
  std::mt19937 random(3);
  std::uniform_real_distribution<float> uniform(-1, 1);
  for (const std::size_t taps : {1U, 7U, 128U, 129U, 4096U}) {
    std::vector<float> signal(6001);
    std::vector<float> weights(taps);
    std::ranges::generate(signal, [&] { return uniform(random); });
    std::ranges::generate(weights, [&] { return uniform(random); });
    KernelBatch sut(stage_of("fir:taps=" + std::to_string(taps)),
                    cut(bytes_of(signal), {1500, 1, 63, 64, 65, 700}), bytes_of(weights));
    sut.run();
    ASSERT_TRUE(sut.matches_reference(ElementKind::f32)) << taps;
  }
}

TEST(FirKernel, ReferenceWeighsTheNewestSampleWithTheFirstTap) {
  EXPECT_EQ(filtered("fir:taps=3", {1, 10, 100}, {1, 2, 3, 4}),
            (std::vector<float>{1, 12, 123, 234}));
  EXPECT_EQ(filtered("fir:taps=1", {-2}, {1, 2}), (std::vector<float>{-2, -4}));
}

TEST(FirKernel, ReferenceFiltersBothPartsOfComplexSamplesAlike) {
  EXPECT_EQ(filtered("fir:taps=2,type=c32", {1, 10}, {1, 5, 2, 6, 3, 7}),
            (std::vector<float>{1, 5, 12, 56, 23, 67}));
}

TEST(FirKernel, ReferenceGivesBackTheTapsOfAnImpulse) {
  std::vector<float> taps(100);
  for (std::size_t k = 0; k < taps.size(); ++k) {
    taps[k] = static_cast<float>(k) + 0.5F;
  }
  std::vector<float> impulse(130, 0.0F);
  impulse[0] = 1;
  std::vector<float> expected = taps;
  expected.resize(130, 0.0F);
  EXPECT_EQ(filtered("fir:taps=100", taps, impulse), expected);
}

TEST(FirKernel, ReferenceSumsGroupsOfSixtyFourTaps) {
  // 2^24 + 1 is 2^24 in f32: alone in the next group, 64 ones survive, one by one they would not.
  std::vector<float> taps(128, 1.0F);
  std::vector<float> signal(128, 1.0F);
  signal[127] = 0x1p24F;
  const std::vector<float> result = filtered("fir:taps=128", taps, signal);
  EXPECT_EQ(result.back(), 0x1p24F + 64);
}

TEST(FirKernel, GivesTheSameHoweverASignalIsCutIntoJobs) {
  const std::vector<std::byte> signal = awkward_input(ElementKind::f32, 3001);
  for (const std::size_t taps : {2U, 33U, 500U}) {
    const std::vector<std::byte> table = awkward_input(ElementKind::f32, taps, 5);
    const std::string text = "fir:taps=" + std::to_string(taps);
    KernelBatch whole(stage_of(text), {signal}, table);
    whole.run();
    ASSERT_TRUE(whole.matches_reference(ElementKind::f32));
    const std::vector<float> expected = outputs_of(whole, 1);
    for (const std::vector<std::size_t>& cuts : std::vector<std::vector<std::size_t>>{
             {1}, {2, 3}, {32}, {31, 1, 33}, {64, 128}, {1000, 1}, {3000}}) {
      const Jobs jobs = cut(signal, cuts);
      KernelBatch sut(stage_of(text), jobs, table);
      sut.run();
      const std::vector<float> got = outputs_of(sut, jobs.size());
      EXPECT_EQ(first_difference(ElementKind::f32, bytes_of(got), bytes_of(expected)), "")
          << taps << " taps, " << jobs.size() << " jobs";
    }
  }
}

TEST(FirKernel, RemembersTheSignalFromBatchToBatch) {
  KernelBatch sut(stage_of("fir:taps=4"), {bytes_of<float>({1}), {}, bytes_of<float>({1})},
                  bytes_of<float>({1, 2, 4, 8}));
  sut.run();
  EXPECT_EQ(outputs_of(sut, 3), (std::vector<float>{1, 3}));
  sut.run();
  EXPECT_EQ(outputs_of(sut, 3), (std::vector<float>{7, 15}));
  sut.reset_state();
  sut.run();
  EXPECT_EQ(outputs_of(sut, 3), (std::vector<float>{1, 3}));
}

TEST(FirKernel, KeepsInfinitiesAndNaNToTheOutputsTheyReach) {
  const float infinity = std::numeric_limits<float>::infinity();
  KernelBatch sut(stage_of("fir:taps=2"), {bytes_of<float>({1, infinity, 1, 1})},
                  bytes_of<float>({1, 1}));
  sut.run();
  EXPECT_EQ(outputs_of(sut, 1), (std::vector<float>{1, infinity, infinity, 2}));
  KernelBatch silent(stage_of("fir:taps=2"), {bytes_of<float>({1, 1})},
                     bytes_of<float>({1, infinity}));
  silent.run();
  EXPECT_TRUE(std::isnan(outputs_of(silent, 1)[0])) << "silence times an infinite tap";
}

TEST(FirKernel, WantsATableOfItsTapsAndAStateOfOneSampleLess) {
  const Stage stage = stage_of("fir:taps=10,type=c32");
  EXPECT_EQ(stage.kernel->table_bytes(stage.params), 40U);
  EXPECT_FALSE(stage.kernel->table_help().empty());
  for (const std::uint64_t bytes : {8U, 8000U}) {
    EXPECT_EQ(std::get<Plan>(stage.kernel->plan(stage.params, bytes)).state_bytes, 72U);
  }
  const Stage single = stage_of("fir:taps=1");
  EXPECT_EQ(std::get<Plan>(single.kernel->plan(single.params, 4)).state_bytes, 0U);
}

TEST(FirKernel, RefusesALengthThatIsNoWholeSample) {
  EXPECT_EQ(refusal_of("fir:type=c32", 12),
            "12 bytes do not fit fir: it takes whole granules of 8 bytes (one complex f32 sample), "
            "and 4 bytes are left over; send 8 or 16 bytes");
  EXPECT_EQ(refusal_of("fir", 12), "");
}

TEST(FirKernel, RefusesANumberOfTapsOutOfRange) {
  EXPECT_THROW((void)stage_of("fir:taps=0"), PipelineError);
  EXPECT_THROW((void)stage_of("fir:taps=4097"), PipelineError);
}

}  // namespace
}  // namespace overlap::test
