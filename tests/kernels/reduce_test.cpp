#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

constexpr std::string_view kOps[] = {"sum", "min", "max", "mean", "variance"};
constexpr std::string_view kTypes[] = {"u8", "i16", "i32", "f32", "f64"};
constexpr ElementKind kKinds[] = {ElementKind::u8, ElementKind::i16, ElementKind::i32,
                                  ElementKind::f32, ElementKind::f64};

/// Around the lanes of a run and around a run.
constexpr std::size_t kFiniteCounts[] = {1,   2,    3,    5,    127,  128,
                                         129, 4095, 4096, 4097, 9000, 100'003};
constexpr std::size_t kLengths[] = {1, 2, 3, 4, 5, 7, 16, 31, 100, 1000, 5001};

std::string reduce(std::string_view op, std::string_view type, std::uint64_t length = 0) {
  return "reduce:op=" + std::string(op) + ",type=" + std::string(type) +
         ",length=" + std::to_string(length);
}

template <class Element>
std::vector<double> reference_on(std::string_view text, const std::vector<Element>& input) {
  return elements_of<double>(reference_of(text, bytes_of(input)));
}

testing::AssertionResult equals_reference(const std::string& text,
                                          std::vector<std::vector<std::byte>> inputs) {
  KernelBatch sut(stage_of(text), std::move(inputs));
  sut.run();
  const auto result = sut.matches_reference(ElementKind::f64);
  return result ? result : testing::AssertionFailure() << text << ": " << result.message();
}

TEST(ReduceKernel, EqualsTheReferenceForEveryOperationTypeAndSize) {
  for (const std::string_view op : kOps) {
    for (std::size_t type = 0; type < std::size(kTypes); ++type) {
      for (const std::size_t count : kAwkwardCounts) {
        ASSERT_TRUE(
            equals_reference(reduce(op, kTypes[type]), {awkward_input(kKinds[type], count)}))
            << count << " elements";
      }
    }
  }
}

TEST(ReduceKernel, EqualsTheReferenceForFiniteFloatsOfEverySize) {
  for (const std::string_view op : kOps) {
    for (const std::size_t count : kFiniteCounts) {
      ASSERT_TRUE(equals_reference(reduce(op, "f32"), {finite_input<float>(count)})) << count;
      ASSERT_TRUE(equals_reference(reduce(op, "f64"), {finite_input<double>(count)})) << count;
    }
  }
}

TEST(ReduceKernel, EqualsTheReferenceForMoreRunsThanLanes) {
  for (const std::string_view op : {"sum", "max", "variance"}) {
    ASSERT_TRUE(equals_reference(reduce(op, "f32"), {finite_input<float>(260 * 4096 + 17)}));
    ASSERT_TRUE(equals_reference(reduce(op, "f64"), {finite_input<double>(259 * 2048)}));
  }
}

TEST(ReduceKernel, EqualsTheReferenceForSegmentsOfEveryLength) {
  for (const std::string_view op : kOps) {
    for (const std::size_t length : kLengths) {
      for (std::size_t type = 0; type < 3; ++type) {
        ASSERT_TRUE(equals_reference(reduce(op, kTypes[type], length),
                                     {awkward_input(kKinds[type], 7 * length, 1),
                                      {},
                                      awkward_input(kKinds[type], length, 2)}));
      }
      ASSERT_TRUE(equals_reference(reduce(op, "f32", length), {finite_input<float>(7 * length, 1),
                                                               finite_input<float>(length, 2)}));
      ASSERT_TRUE(equals_reference(reduce(op, "f64", length), {finite_input<double>(7 * length, 1),
                                                               finite_input<double>(length, 2)}));
    }
  }
}

TEST(ReduceKernel, RunsJobsOfDifferentSizesInOneBatch) {
  for (const std::string_view op : kOps) {
    EXPECT_TRUE(equals_reference(reduce(op, "f32"), {finite_input<float>(50'000, 1),
                                                     {},
                                                     finite_input<float>(1, 2),
                                                     finite_input<float>(77, 3)}));
  }
}

TEST(ReduceKernel, ReferenceKnowsSmallSegments) {
  const std::vector<std::int16_t> input = {1, 2, 3, 4, -5, 5, 5, -5};
  EXPECT_EQ(reference_on(reduce("sum", "i16", 4), input), (std::vector<double>{10, 0}));
  EXPECT_EQ(reference_on(reduce("min", "i16", 4), input), (std::vector<double>{1, -5}));
  EXPECT_EQ(reference_on(reduce("max", "i16", 4), input), (std::vector<double>{4, 5}));
  EXPECT_EQ(reference_on(reduce("mean", "i16", 4), input), (std::vector<double>{2.5, 0}));
  EXPECT_EQ(reference_on(reduce("variance", "i16", 4), input), (std::vector<double>{1.25, 25}));
  EXPECT_EQ(reference_on(reduce("sum", "i16"), input), (std::vector<double>{10}));
  const std::vector<double> floats = {1, 2, 3, 4, -5, 5, 5, -5};
  EXPECT_EQ(reference_on(reduce("variance", "f64", 4), floats), (std::vector<double>{1.25, 25}));
  EXPECT_EQ(reference_on(reduce("mean", "f64", 4), floats), (std::vector<double>{2.5, 0}));
}

TEST(ReduceKernel, SumsIntegersExactly) {
  constexpr std::int32_t kMax = std::numeric_limits<std::int32_t>::max();
  constexpr std::int32_t kMin = std::numeric_limits<std::int32_t>::min();
  // Beyond f64's 53 bits on the way, and a small number in the end.
  std::vector<std::int32_t> input(5'000'000, kMax);
  input.insert(input.end(), 5'000'000, kMin);
  EXPECT_EQ(reference_on(reduce("sum", "i32"), input), (std::vector<double>{-5e6}));
  EXPECT_EQ(reference_on(reduce("mean", "i32"), input), (std::vector<double>{-0.5}));
  EXPECT_EQ(reference_on(reduce("variance", "i32"), input),
            (std::vector<double>{4'611'686'016'279'904'256.25}));
  for (const std::string_view op : {"sum", "variance"}) {
    EXPECT_TRUE(equals_reference(reduce(op, "i32"), {bytes_of(input)}));
  }
}

TEST(ReduceKernel, GivesNaNForMinimumAndMaximumIfThereIsOne) {
  using Limits = std::numeric_limits<float>;
  for (const float nan : {Limits::quiet_NaN(), -Limits::quiet_NaN()}) {
    for (const std::string_view op : {"min", "max"}) {
      KernelBatch sut(
          stage_of(reduce(op, "f32", 3)),
          {bytes_of(std::vector<float>{1, nan, 2, Limits::infinity(), 0, -Limits::infinity()})});
      sut.run();
      const auto result = elements_of<double>(sut.output(0));
      EXPECT_TRUE(std::isnan(result[0])) << op;
      EXPECT_EQ(result[1], op == "min" ? -HUGE_VAL : HUGE_VAL) << op;
    }
  }
}

TEST(ReduceKernel, OrdersZerosAndDenormals) {
  const float tiny = std::numeric_limits<float>::denorm_min();
  const std::vector<float> input = {0.0F, -0.0F, -0.0F, 0.0F, -tiny, tiny};
  for (const auto& [op, zero_is_negative, extreme] :
       {std::tuple("min", true, -tiny), std::tuple("max", false, tiny)}) {
    KernelBatch sut(stage_of(reduce(op, "f32", 2)), {bytes_of(input)});
    sut.run();
    const auto result = elements_of<double>(sut.output(0));
    EXPECT_EQ(std::signbit(result[0]), zero_is_negative) << op;
    EXPECT_EQ(std::signbit(result[1]), zero_is_negative) << op;
    EXPECT_EQ(result[2], static_cast<double>(extreme)) << op;
    EXPECT_TRUE(sut.matches_reference(ElementKind::f64)) << op;
  }
}

/// The textbook's two passes, with more bits than f64 has.
long double two_pass_variance(const std::vector<double>& values) {
  long double mean = 0;
  for (const double value : values) {
    mean += value;
  }
  mean /= static_cast<long double>(values.size());
  long double squares = 0;
  for (const double value : values) {
    squares += (value - mean) * (value - mean);
  }
  return squares / static_cast<long double>(values.size());
}

TEST(ReduceKernel, IsStableForAVarianceFarSmallerThanTheMean) {
  std::mt19937 random(7);
  for (const double mean : {0.0, 1e6, -1e9}) {
    std::vector<double> values(100'000);
    for (double& value : values) {
      value = mean + static_cast<double>(random()) / 0x1p32;
    }
    KernelBatch sut(stage_of(reduce("variance", "f64")), {bytes_of(values)});
    sut.run();
    const double result = elements_of<double>(sut.output(0)).front();
    const auto expected = static_cast<double>(two_pass_variance(values));
    EXPECT_NEAR(result, expected, expected * 1e-12) << "around " << mean;
  }
}

TEST(ReduceKernel, IsStableWhenARunBeginsWithItsOutlier) {
  std::vector<double> values(4096, 1.0);
  for (std::size_t i = 0; i < values.size(); i += 2) {
    values[i] = 1.0 + 0x1p-20;
  }
  values[0] = 1e9;
  KernelBatch sut(stage_of(reduce("variance", "f64")), {bytes_of(values)});
  sut.run();
  const auto expected = static_cast<double>(two_pass_variance(values));
  EXPECT_NEAR(elements_of<double>(sut.output(0)).front(), expected, expected * 0x1p-35);
}

TEST(ReduceKernel, PlansOneNumberForEachSegmentAndRoomForLongOnes) {
  const auto plan_of = [](const std::string& text, std::uint64_t bytes) {
    const Stage stage = stage_of(text);
    return std::get<Plan>(stage.kernel->plan(stage.params, bytes));
  };
  EXPECT_EQ(plan_of(reduce("sum", "f32"), 400).max_output_bytes, 8U);
  EXPECT_EQ(plan_of(reduce("sum", "f32", 10), 400).max_output_bytes, 80U);
  EXPECT_EQ(plan_of(reduce("sum", "u8", 1), 5).max_output_bytes, 40U);
  EXPECT_EQ(plan_of(reduce("sum", "u8"), 0).max_output_bytes, 0U);
  EXPECT_EQ(plan_of(reduce("sum", "f32"), 16'384).workspace_bytes, 0U);
  EXPECT_EQ(plan_of(reduce("sum", "f32"), 16'388).workspace_bytes, 2U * 32);
  EXPECT_EQ(plan_of(reduce("sum", "f64", 2049), 2U * 2049 * 8).workspace_bytes, 4U * 32);
}

TEST(ReduceKernel, IsMappedWhereThreadsLoadEachWordOnce) {
  const auto is_mapped = [](const std::string& text, std::uint64_t bytes) {
    const Stage stage = stage_of(text);
    return (std::get<Plan>(stage.kernel->plan(stage.params, bytes)).paths &
            static_cast<std::uint8_t>(Path::mapped)) != 0;
  };
  EXPECT_TRUE(is_mapped(reduce("sum", "f32"), 4 * 999));
  EXPECT_TRUE(is_mapped(reduce("sum", "f32", 8), 320));
  EXPECT_FALSE(is_mapped(reduce("sum", "f32", 5), 200));
}

TEST(ReduceKernel, IsMappedForEveryJobOfABatchOrForNone) {
  for (const std::uint64_t length : {0ULL, 4ULL, 5ULL}) {
    const Stage sut = stage_of(reduce("sum", "f32", length));
    for (const std::uint64_t segments : {0ULL, 1ULL, 2ULL, 2000ULL}) {
      const std::uint64_t bytes = segments * sut.kernel->granule_bytes(sut.params);
      const auto plan = std::get<Plan>(sut.kernel->plan(sut.params, bytes));
      EXPECT_EQ((plan.paths & static_cast<std::uint8_t>(Path::mapped)) != 0, length != 5)
          << segments << " segments of " << length;
    }
  }
}

TEST(ReduceKernel, RefusesALengthThatIsNoWholeSegment) {
  EXPECT_EQ(refusal_of(reduce("sum", "i16", 5), 24),
            "24 bytes do not fit reduce: it takes whole granules of 10 bytes (one segment of 5 i16 "
            "elements), and 4 bytes are left over; send 20 or 30 bytes");
  EXPECT_EQ(refusal_of(reduce("sum", "f32"), 6),
            "6 bytes do not fit reduce: it takes whole granules of 4 bytes (one f32 element), and "
            "2 bytes are left over; send 4 or 8 bytes");
  EXPECT_EQ(refusal_of(reduce("sum", "u8"), (1ULL << 32U) + 1),
            "reduce takes segments of up to 4294967296 elements, and with length=0 the job is one "
            "of 4294967297; give a length, or send less");
  EXPECT_THROW((void)stage_of("reduce:length=-1"), PipelineError);
  EXPECT_THROW((void)stage_of("reduce:length=4294967297"), PipelineError);
}

}  // namespace
}  // namespace overlap::test
