#include "kernels/byte_lookup.hpp"
#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

constexpr std::string_view kTypeNames[] = {"u8", "i16", "i32", "f32", "f64"};
constexpr ElementKind kKinds[] = {ElementKind::u8, ElementKind::i16, ElementKind::i32,
                                  ElementKind::f32, ElementKind::f64};

/// Identity, halves that tie, what saturates, what loses digits, what fusing would change.
constexpr std::string_view kFactors[] = {
    "a=1,b=0",     "a=2,b=1",        "a=0.5,b=0",  "a=-0.5,b=0.25",
    "a=0,b=-0",    "a=3,b=-7",       "a=1e30,b=1", "a=-1e30,b=1e30",
    "a=1e-30,b=0", "a=0.1,b=0.7",    "a=1,b=0.5",  "a=1.0000001,b=-1.0000001",
    "a=0,b=1e9",   "a=1e-40,b=1e-42"};

template <class Element>
std::vector<Element> reference_on(std::string_view text, const std::vector<Element>& input) {
  return elements_of<Element>(reference_of(text, bytes_of(input)));
}

TEST(ScaleKernel, EqualsTheReferenceForEveryTypeFactorAndSize) {
  for (std::size_t type = 0; type < std::size(kKinds); ++type) {
    for (const std::string_view factors : kFactors) {
      for (const std::size_t count : kAwkwardCounts) {
        if (count > 5000 && factors != "a=0.1,b=0.7") {
          continue;
        }
        const std::string text =
            "scale:" + std::string(factors) + ",type=" + std::string(kTypeNames[type]);
        KernelBatch sut(stage_of(text), {awkward_input(kKinds[type], count)});
        sut.run();
        ASSERT_TRUE(sut.matches_reference(kKinds[type])) << text << ", " << count << " elements";
      }
    }
  }
}

TEST(ScaleKernel, RunsJobsOfDifferentSizesInOneBatch) {
  for (std::size_t type = 0; type < std::size(kKinds); ++type) {
    KernelBatch sut(stage_of("scale:a=-3,b=0.5,type=" + std::string(kTypeNames[type])),
                    {awkward_input(kKinds[type], 257, 1),
                     {},
                     awkward_input(kKinds[type], 1, 2),
                     awkward_input(kKinds[type], 4097, 3)});
    sut.run();
    EXPECT_TRUE(sut.matches_reference(kKinds[type])) << kTypeNames[type];
  }
}

TEST(ScaleKernel, EqualsTheReferenceForEveryByteAndEverySixteenBitValue) {
  std::vector<std::uint8_t> bytes(256);
  std::vector<std::int16_t> words(65'536);
  for (std::size_t value = 0; value < words.size(); ++value) {
    words[value] = static_cast<std::int16_t>(static_cast<int>(value) - 32'768);
    bytes[value % 256] = static_cast<std::uint8_t>(value);
  }
  for (const std::string_view factors : kFactors) {
    KernelBatch u8(stage_of("scale:type=u8," + std::string(factors)), {bytes_of(bytes)});
    u8.run();
    EXPECT_TRUE(u8.matches_reference(ElementKind::u8)) << factors;
    KernelBatch i16(stage_of("scale:type=i16," + std::string(factors)), {bytes_of(words)});
    i16.run();
    EXPECT_TRUE(i16.matches_reference(ElementKind::i16)) << factors;
  }
}

TEST(ScaleKernel, ReferenceSaturatesAndRoundsTiesToEvenBytes) {
  using Bytes = std::vector<std::uint8_t>;
  EXPECT_EQ(reference_on<std::uint8_t>("scale:a=2,b=1,type=u8", {0, 1, 126, 127, 128, 255}),
            (Bytes{1, 3, 253, 255, 255, 255}));
  EXPECT_EQ(reference_on<std::uint8_t>("scale:a=0.5,b=0,type=u8", {0, 1, 2, 3, 5, 7, 255}),
            (Bytes{0, 0, 1, 2, 2, 4, 128}));
  EXPECT_EQ(reference_on<std::uint8_t>("scale:a=-1,b=3,type=u8", {0, 2, 3, 4, 255}),
            (Bytes{3, 1, 0, 0, 0}));
  EXPECT_EQ(reference_on<std::uint8_t>("scale:a=1,b=0.5,type=u8", {0, 1, 2, 254, 255}),
            (Bytes{0, 2, 2, 254, 255}));
}

TEST(ScaleKernel, ReferenceSaturatesAndRoundsTiesToEvenSignedIntegers) {
  EXPECT_EQ(reference_on<std::int16_t>("scale:a=-0.5,b=0,type=i16", {1, 3, 5, -1, -3, -32'768}),
            (std::vector<std::int16_t>{0, -2, -2, 0, 2, 16'384}));
  EXPECT_EQ(reference_on<std::int16_t>("scale:a=2,b=-1,type=i16", {16'384, 16'383, -16'384, -9}),
            (std::vector<std::int16_t>{32'767, 32'765, -32'768, -19}));
  constexpr std::int32_t kMax = 2'147'483'647;
  constexpr std::int32_t kMin = -2'147'483'647 - 1;
  EXPECT_EQ(reference_on<std::int32_t>("scale:a=1,b=1,type=i32", {kMax, kMax - 1, kMin, -1}),
            (std::vector<std::int32_t>{kMax, kMax, kMin + 1, 0}));
  EXPECT_EQ(reference_on<std::int32_t>("scale:a=1e308,b=-1e308,type=i32", {kMax, kMin, 1, 0}),
            (std::vector<std::int32_t>{kMax, kMin, 0, kMin}));
}

TEST(ScaleKernel, ReferenceRoundsTwiceAndNeverFuses) {
  // (1 + 2^-12)^2 is 1 + 2^-11 + 2^-24, a tie that rounds to 1 + 2^-11: taking that away again
  // leaves 0; fused it would leave 2^-24.
  EXPECT_EQ(
      reference_on<float>("scale:a=1.000244140625,b=-1.00048828125,type=f32", {1.000244140625F}),
      (std::vector<float>{0.0F}));
  // The same with 2^-27 and 53 bits.
  EXPECT_EQ(reference_on<double>(
                "scale:a=1.000000007450580596923828125,b=-1.00000001490116119384765625,type=f64",
                {1.000000007450580596923828125}),
            (std::vector<double>{0.0}));
}

TEST(ScaleKernel, RoundsTwiceAndNeverFuses) {
  KernelBatch sut(stage_of("scale:a=1.000244140625,b=-1.00048828125,type=f32"),
                  {bytes_of(std::vector<float>(67, 1.000244140625F))});
  sut.run();
  EXPECT_EQ(elements_of<float>(sut.output_area(0).first(67 * sizeof(float))),
            std::vector<float>(67, 0.0F));
}

TEST(ScaleKernel, ReferenceKeepsInfinitiesDenormalsAndNaN) {
  using Limits = std::numeric_limits<float>;
  const auto result = reference_on<float>(
      "scale:a=2,b=0", {Limits::infinity(), -Limits::infinity(), Limits::denorm_min(),
                        Limits::max(), 0.75F, Limits::quiet_NaN()});
  ASSERT_EQ(result.size(), 6U);
  EXPECT_EQ((std::vector<float>(result.begin(), result.end() - 1)),
            (std::vector<float>{Limits::infinity(), -Limits::infinity(), 0x1p-148F,
                                Limits::infinity(), 1.5F}));
  EXPECT_TRUE(std::isnan(result.back()));
  EXPECT_TRUE(std::isnan(reference_on<float>("scale:a=0,b=1", {Limits::infinity()}).front()));
}

TEST(ScaleKernel, RoundsFactorsToSinglePrecisionOnceForF32) {
  EXPECT_EQ(reference_on<float>("scale:a=0.1,b=0", {1.0F, 10.0F}),
            (std::vector<float>{0.1F, 1.0F}));
}

TEST(ScaleKernel, RefusesALengthThatIsNoWholeElement) {
  EXPECT_EQ(refusal_of("scale:type=f64", 20),
            "20 bytes do not fit scale: it takes whole granules of 8 bytes (one f64 element), and "
            "4 bytes are left over; send 16 or 24 bytes");
  EXPECT_EQ(refusal_of("scale:type=i16", 1),
            "1 bytes do not fit scale: it takes whole granules of 2 bytes (one i16 element), and "
            "1 bytes are left over; send 2 bytes");
  EXPECT_EQ(refusal_of("scale:type=u8", 1), "");
}

TEST(ScaleKernel, RefusesFactorsThatAreInfiniteInSinglePrecision) {
  EXPECT_THROW((void)stage_of("scale:a=1e39"), PipelineError);
  EXPECT_THROW((void)stage_of("scale:b=-1e39,type=f32"), PipelineError);
  EXPECT_NO_THROW((void)stage_of("scale:a=1e39,type=f64"));
  EXPECT_NO_THROW((void)stage_of("scale:a=3.4e38,type=f32"));
}

TEST(ScaleKernel, TakesAJobsFactorThatIsInfiniteInSinglePrecisionAsInfinite) {
  Stage stage = stage_of("scale");
  ASSERT_TRUE(stage.kernel->parameters()[0].per_job && stage.kernel->parameters()[1].per_job);
  KernelBatch sut(stage, {bytes_of(std::vector<float>{1, -1, 0})});
  stage.params[0].f64 = -1e39;
  sut.give_jobs(stage.params);
  sut.run();
  const auto result = elements_of<float>(sut.output(0));
  EXPECT_EQ(result[0], -std::numeric_limits<float>::infinity());
  EXPECT_EQ(result[1], std::numeric_limits<float>::infinity());
  EXPECT_TRUE(std::isnan(result[2])) << "infinity times zero";
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(ByteLookup, GivesTheSameInEveryWayThisMachineCan) {
  ByteTable table{};
  for (std::size_t value = 0; value < table.size(); ++value) {
    table[value] = static_cast<std::uint8_t>(value * 167 + 13);
  }
  for (const std::size_t count : kAwkwardCounts) {
    const auto in = elements_of<std::uint8_t>(awkward_input(ElementKind::u8, count));
    for (auto way = static_cast<int>(fastest_byte_lookup()); way >= 0; --way) {
      std::vector<std::uint8_t> out(count + 1, 0xa5);
      look_up_bytes(static_cast<ByteLookup>(way), table, in.data(), out.data(), count);
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_EQ(out[i], static_cast<std::uint8_t>(in[i] * 167 + 13)) << "way " << way;
      }
      ASSERT_EQ(out[count], 0xa5) << "way " << way;
    }
  }
}

}  // namespace
}  // namespace overlap::test
