#include "tests/kernels/kernel_batch.hpp"

#include <numeric>

namespace overlap::test {
namespace {

constexpr ElementKind kKinds[] = {ElementKind::u8,  ElementKind::i16,  ElementKind::i32,
                                  ElementKind::f16, ElementKind::bf16, ElementKind::f32,
                                  ElementKind::f64};
constexpr std::string_view kNames[] = {"u8", "i16", "i32", "f16", "bf16", "f32", "f64"};
constexpr std::size_t kTypes = std::size(kKinds);

std::string convert(std::size_t from, std::size_t to, std::string_view factors = "") {
  return "convert:from=" + std::string(kNames[from]) + ",to=" + std::string(kNames[to]) +
         std::string(factors);
}

/// The reference's results for numbers, both as they lie in memory.
template <class To, class From>
std::vector<To> converted(std::string_view text, const std::vector<From>& input) {
  return elements_of<To>(reference_of(text, bytes_of(input)));
}

using Bits = std::vector<std::uint16_t>;

TEST(ConvertKernel, EqualsTheReferenceForEveryPairOfTypesAndSize) {
  for (std::size_t from = 0; from < kTypes; ++from) {
    for (std::size_t to = 0; to < kTypes; ++to) {
      for (const std::size_t count : kAwkwardCounts) {
        if (count > 5000 && from != 4) {
          continue;
        }
        KernelBatch sut(stage_of(convert(from, to)), {awkward_input(kKinds[from], count)});
        sut.run();
        ASSERT_TRUE(sut.matches_reference(kKinds[to])) << convert(from, to) << ", " << count;
      }
    }
  }
}

TEST(ConvertKernel, EqualsTheReferenceForEveryPairOfTypesAndFactor) {
  for (std::size_t from = 0; from < kTypes; ++from) {
    for (std::size_t to = 0; to < kTypes; ++to) {
      for (const std::string_view factors :
           {",scale=0.5", ",scale=-0.1,offset=0.7", ",scale=1e-7", ",scale=1e30,offset=-1e30",
            ",scale=1e308,offset=-1e308", ",scale=1e-300", ",scale=0,offset=1.5"}) {
        KernelBatch sut(stage_of(convert(from, to, factors)), {awkward_input(kKinds[from], 3000)});
        sut.run();
        ASSERT_TRUE(sut.matches_reference(kKinds[to])) << convert(from, to, factors);
      }
    }
  }
}

TEST(ConvertKernel, EqualsTheReferenceForEveryNumberOfSixteenBits) {
  Bits all(65'536);
  std::iota(all.begin(), all.end(), std::uint16_t{0});
  for (std::size_t from : {1U, 3U, 4U}) {
    for (std::size_t to = 0; to < kTypes; ++to) {
      KernelBatch sut(stage_of(convert(from, to)), {bytes_of(all)});
      sut.run();
      ASSERT_TRUE(sut.matches_reference(kKinds[to])) << convert(from, to);
    }
  }
}

/// Every number of 16 bits, halfway to the next, and as little below and above that as f64 can.
std::vector<double> around_every_tie(std::size_t type) {
  Bits bits(65'536);
  std::iota(bits.begin(), bits.end(), std::uint16_t{0});
  const auto numbers = converted<double>(convert(type, 6), bits);
  std::vector<double> result;
  for (std::size_t i = 0; i + 1 < numbers.size(); ++i) {
    const double tie = (numbers[i] + numbers[i + 1]) / 2;
    const double huge = std::numeric_limits<double>::infinity();
    result.insert(result.end(),
                  {numbers[i], std::nextafter(tie, -huge), tie, std::nextafter(tie, huge)});
  }
  return result;
}

TEST(ConvertKernel, RoundsEveryTieToSixteenBitFloatsOnce) {
  for (const std::size_t type : {3U, 4U}) {
    KernelBatch sut(stage_of(convert(6, type)), {bytes_of(around_every_tie(type))});
    sut.run();
    ASSERT_TRUE(sut.matches_reference(kKinds[type])) << kNames[type];
  }
}

TEST(ConvertKernel, RunsJobsOfDifferentSizesInOneBatch) {
  KernelBatch sut(stage_of(convert(1, 5, ",scale=3,offset=-1")),
                  {awkward_input(ElementKind::i16, 257, 1),
                   {},
                   awkward_input(ElementKind::i16, 1, 2),
                   awkward_input(ElementKind::i16, 4097, 3)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(ConvertKernel, ReferenceKnowsTheNumbersOfHalfFloats) {
  EXPECT_EQ(converted<float>("convert:from=f16,to=f32",
                             Bits{0x3c00, 0xc000, 0x7bff, 0x0400, 0x0001, 0x7c00, 0x8000}),
            (std::vector<float>{1.0F, -2.0F, 65'504.0F, 0x1p-14F, 0x1p-24F,
                                std::numeric_limits<float>::infinity(), -0.0F}));
  EXPECT_EQ(converted<std::uint16_t>("convert:from=f64,to=f16",
                                     std::vector<double>{1, -2, 65'504, 65'519.99, 65'520, 0x1p-24,
                                                         0x1p-25, 0x1.8p-25, 1e300, -0.0}),
            (Bits{0x3c00, 0xc000, 0x7bff, 0x7bff, 0x7c00, 0x0001, 0x0000, 0x0001, 0x7c00, 0x8000}));
}

TEST(ConvertKernel, ReferenceKnowsTheNumbersOfBfloats) {
  EXPECT_EQ(converted<double>("convert:from=bf16,to=f64", Bits{0x3f80, 0xc000, 0x0001, 0xff80}),
            (std::vector<double>{1, -2, 0x1p-133, -std::numeric_limits<double>::infinity()}));
  EXPECT_EQ(converted<std::uint16_t>("convert:from=f64,to=bf16",
                                     std::vector<double>{1, 1.00390625, 1.01171875, 3.4e38, 1e300,
                                                         0x1p-134, 0x1.8p-134}),
            (Bits{0x3f80, 0x3f80, 0x3f82, 0x7f80, 0x7f80, 0x0000, 0x0001}));
}

TEST(ConvertKernel, RoundsAFactoredValueToHalfFloatsOnceAndNotThroughSinglePrecision) {
  // 1 + 2^-11 is a tie between two half floats; 2^-40 above it, f32 no longer sees the difference.
  const std::vector<double> input(3, 1 + 0x1p-11 + 0x1p-40);
  KernelBatch sut(stage_of("convert:from=f64,to=f16"), {bytes_of(input)});
  sut.run();
  EXPECT_EQ(elements_of<std::uint16_t>(sut.output(0)), Bits(3, 0x3c01));
  EXPECT_EQ(converted<std::uint16_t>("convert:from=f64,to=f16", input), Bits(3, 0x3c01));
}

TEST(ConvertKernel, ReferenceSaturatesRoundsTiesToEvenAndMakesNaNZero) {
  using Limits = std::numeric_limits<float>;
  const std::vector<float> input = {0.5F,
                                    1.5F,
                                    2.5F,
                                    -0.5F,
                                    -1.5F,
                                    254.5F,
                                    255.5F,
                                    -1e30F,
                                    1e30F,
                                    Limits::quiet_NaN(),
                                    Limits::infinity(),
                                    -Limits::infinity()};
  EXPECT_EQ(converted<std::uint8_t>("convert:from=f32,to=u8", input),
            (std::vector<std::uint8_t>{0, 2, 2, 0, 0, 254, 255, 0, 255, 0, 255, 0}));
  EXPECT_EQ(
      converted<std::int16_t>("convert:from=f32,to=i16", input),
      (std::vector<std::int16_t>{0, 2, 2, 0, -2, 254, 256, -32'768, 32'767, 0, 32'767, -32'768}));
}

TEST(ConvertKernel, ReferenceScalesAndShifts) {
  EXPECT_EQ(converted<float>("convert:scale=0.5,offset=-1", std::vector<std::uint8_t>{0, 1, 255}),
            (std::vector<float>{-1.0F, -0.5F, 126.5F}));
}

TEST(ConvertKernel, KeepsANegativeZeroWithoutAnOffset) {
  for (const std::string_view text :
       {"convert:from=f32,to=f64", "convert:from=f32,to=f64,offset=-0"}) {
    KernelBatch sut(stage_of(text), {bytes_of(std::vector<float>{-0.0F, 0.0F})});
    sut.run();
    const auto result = elements_of<double>(sut.output(0));
    EXPECT_TRUE(std::signbit(result[0])) << text;
    EXPECT_FALSE(std::signbit(result[1])) << text;
    EXPECT_TRUE(sut.matches_reference(ElementKind::f64)) << text;
  }
}

TEST(ConvertKernel, LetsAJobBringItsScaleAndOffset) {
  Stage stage = stage_of("convert");
  KernelBatch sut(stage, {bytes_of(std::vector<std::uint8_t>{0, 10})});
  ASSERT_TRUE(stage.kernel->parameters()[2].per_job && stage.kernel->parameters()[3].per_job);
  stage.params[2].f64 = 2;
  stage.params[3].f64 = 0.25;
  sut.give_jobs(stage.params);
  sut.run();
  EXPECT_EQ(elements_of<float>(sut.output(0)), (std::vector<float>{0.25F, 20.25F}));
}

TEST(ConvertKernel, PlansTheSizeOfTheOtherType) {
  const Stage stage = stage_of("convert:from=i16,to=f64");
  EXPECT_EQ(std::get<Plan>(stage.kernel->plan(stage.params, 6)).max_output_bytes, 24U);
  EXPECT_EQ(refusal_of("convert:from=i16,to=f64", 3),
            "3 bytes do not fit convert: it takes whole granules of 2 bytes (one i16 element), and "
            "1 bytes are left over; send 2 or 4 bytes");
  const Stage doubles = stage_of("convert:from=u8,to=f64");
  EXPECT_EQ(std::get<Refusal>(doubles.kernel->plan(doubles.params, 1ULL << 62U)).text,
            "the output of 4611686018427387904 bytes has no 64-bit size after convert; send at "
            "most 2305843009213693951 elements");
}

}  // namespace
}  // namespace overlap::test
