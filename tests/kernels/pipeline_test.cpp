#include "kernels/pipeline.hpp"

#include "kernels/kernel_limits.hpp"
#include "kernels/parameter_text.hpp"
#include "tests/kernels/kernel_batch.hpp"

#include <functional>

namespace overlap::test {
namespace {

/// Whether `text` says `part`; a failure shows both.
testing::AssertionResult says(const std::string& text, std::string_view part) {
  if (text.find(part) != std::string::npos) {
    return testing::AssertionSuccess();
  }
  return testing::AssertionFailure() << "\"" << text << "\" does not say \"" << part << "\"";
}

Pipeline parse(std::string_view text) { return Pipeline::parse(text, builtin_kernels()); }

std::string error_of(std::string_view text) {
  try {
    (void)parse(text);
  } catch (const PipelineError& error) {
    return error.what();
  }
  return "(no error)";
}

PipelinePlan plan_of(std::string_view text, std::uint64_t input_bytes) {
  const PipelinePlanOrRefusal plan = parse(text).plan(input_bytes);
  return std::holds_alternative<PipelinePlan>(plan) ? std::get<PipelinePlan>(plan) : PipelinePlan{};
}

TEST(Pipeline, ReadsOneStageWithDefaults) {
  const Pipeline sut = parse("scale");
  ASSERT_EQ(sut.stages().size(), 1U);
  EXPECT_EQ(sut.stages()[0].kernel->name(), "scale");
  ASSERT_EQ(sut.stages()[0].params.size(), 3U);
  EXPECT_EQ(sut.stages()[0].params[0].f64, 1.0);
  EXPECT_EQ(sut.stages()[0].params[1].f64, 0.0);
  EXPECT_EQ(sut.stages()[0].params[2].choice_index, 3U);
  EXPECT_EQ(sut.text(), "scale");
}

TEST(Pipeline, ReadsSeveralStagesInOrder) {
  const Pipeline sut = parse("scale:type=u8,b=-1e-3,a=2|transpose:rows=4,cols=5|copy");
  ASSERT_EQ(sut.stages().size(), 3U);
  EXPECT_EQ(sut.stages()[0].params[0].f64, 2.0);
  EXPECT_EQ(sut.stages()[0].params[1].f64, -0.001);
  EXPECT_EQ(sut.stages()[0].params[2].choice_index, 0U);
  EXPECT_EQ(sut.stages()[1].params[0].i64, 4);
  EXPECT_EQ(sut.stages()[1].params[1].i64, 5);
  EXPECT_EQ(sut.stages()[2].kernel->name(), "copy");
  EXPECT_EQ(sut.granule_bytes(), 1U);
}

struct BadText {
  std::string_view text;
  /// Parts of the message: the offending word and what is allowed.
  std::vector<std::string> says;
};

const std::vector<BadText>& bad_texts() {
  static const std::vector<BadText> kTexts = {
      {"", {"the pipeline is empty", "copy, ", ", vector_add"}},
      {"|", {"stage 1 ''", "is empty", "copy, ", ", vector_add"}},
      {"copy|", {"stage 2 ''", "is empty"}},
      {"copy||copy", {"stage 2 ''", "is empty"}},
      {"blur", {"stage 1 'blur'", "unknown kernel 'blur'", "copy, ", ", vector_add"}},
      {" copy", {"unknown kernel ' copy'"}},
      {"Copy", {"unknown kernel 'Copy'"}},
      {"copy | copy", {"unknown kernel 'copy '"}},
      {":a=1", {"unknown kernel ''"}},
      {"copy:", {"empty parameter", "it takes no parameters"}},
      {"copy:a=1", {"unknown parameter 'a' of copy", "it takes no parameters"}},
      {"scale:c=1",
       {"unknown parameter 'c' of scale", "a: any finite number (default 1)",
        "type: one of u8, i16, i32, f32, f64 (default f32)"}},
      {"scale:a=1,", {"empty parameter"}},
      {"scale:,a=1", {"empty parameter"}},
      {"scale:=1", {"empty parameter"}},
      {"scale:a", {"gives the parameter 'a' no value", "a=VALUE", "any finite number"}},
      {"scale:a=", {"a='' is empty"}},
      {"scale:a=1,a=1", {"gives the parameter 'a' twice"}},
      {"scale:a=two", {"a='two' is no number", "any finite number"}},
      {"scale:a=1x", {"a='1x' is no number"}},
      {"scale:a=1=2", {"a='1=2' is no number"}},
      {"scale:a=+1", {"a='+1' is no number"}},
      {"scale:a= 1", {"a=' 1' is no number"}},
      {"scale:a=0x10", {"a='0x10' is no number"}},
      {"scale:a=nan", {"a='nan' is not finite"}},
      {"scale:a=-NaN", {"a='-NaN' is not finite"}},
      {"scale:a=inf", {"a='inf' is not finite"}},
      {"scale:b=-infinity", {"b='-infinity' is not finite"}},
      {"scale:a=1e999", {"a='1e999' is too large or too small"}},
      {"scale:a=1e-999", {"a='1e-999' is too large or too small"}},
      {"scale:a=1e39", {"cannot run", "a=1e+39", "use type=f64"}},
      {"scale:type=F32", {"type='F32' is no choice", "u8, i16, i32, f32, f64"}},
      {"scale:type=u16", {"type='u16' is no choice"}},
      {"vector_add:repeat=0", {"repeat='0' is out of range", "from 1 to 100000", "passes"}},
      {"vector_add:repeat=100001", {"repeat='100001' is out of range"}},
      {"vector_add:repeat=-1", {"repeat='-1' is out of range"}},
      {"vector_add:repeat=1.0", {"repeat='1.0' is no whole number"}},
      {"vector_add:repeat=1e3", {"repeat='1e3' is no whole number"}},
      {"vector_add:repeat=9223372036854775808", {"is too large or too small for 64 bits"}},
      {"transpose:rows=1048577", {"rows='1048577' is out of range", "from 1 to 1048576"}},
      {"copy|transpose:rows=4,cols=0", {"stage 2 'transpose:rows=4,cols=0'", "cols='0'"}},
      {"scale:a=1\n", {"a='1\\x0a' is no number"}},
  };
  return kTexts;
}

TEST(Pipeline, SaysWhatIsWrongWhereAndWhatIsAllowed) {
  for (const BadText& bad : bad_texts()) {
    for (const std::string& part : bad.says) {
      EXPECT_TRUE(says(error_of(bad.text), part)) << "for '" << bad.text << "'";
    }
  }
}

TEST(Pipeline, KeepsAMessageShortAndPrintableWhateverTheTextHolds) {
  const std::string message = error_of(std::string(100'000, '\x1b'));
  EXPECT_LT(message.size(), 1'000U);
  EXPECT_EQ(message.find('\x1b'), std::string::npos);
}

TEST(Pipeline, ReadsBackEveryValueItFormats) {
  const Parameter& a = stage_of("scale").kernel->parameters()[0];
  for (const double number : {0.1, -0.0, 1e308, 5e-324, 1.0 / 3}) {
    overlap_param_value value{};
    value.f64 = number;
    const ValueOrRefusal again = parse_value(a, format_value(a, value));
    ASSERT_TRUE(std::holds_alternative<overlap_param_value>(again)) << number;
    EXPECT_EQ(std::bit_cast<std::uint64_t>(std::get<overlap_param_value>(again).f64),
              std::bit_cast<std::uint64_t>(number));
  }
}

TEST(Pipeline, PlansSizesThroughEveryStage) {
  const PipelinePlan plan = plan_of("vector_add|scale:a=2|transpose:rows=2,cols=3", 96);
  ASSERT_EQ(plan.stages.size(), 3U);
  EXPECT_EQ(plan.stages[0].max_output_bytes, 48U);
  EXPECT_EQ(plan.stages[1].max_output_bytes, 48U);
  EXPECT_EQ(plan.stages[2].max_output_bytes, 48U);
  EXPECT_EQ(plan.max_output_bytes, 48U);
  EXPECT_EQ(plan.output_size, OutputSize::known);
}

TEST(Pipeline, GivesNothingForNothing) {
  for (const std::string_view text : {"copy", "vector_add|transpose:rows=3,cols=3"}) {
    const PipelinePlan plan = plan_of(text, 0);
    EXPECT_FALSE(plan.stages.empty()) << text;
    EXPECT_EQ(plan.max_output_bytes, 0U) << text;
    EXPECT_TRUE(parse(text).reference({}).empty()) << text;
  }
}

TEST(Pipeline, NamesTheStageThatRefusesASize) {
  EXPECT_TRUE(says(refusal_of("vector_add|transpose:rows=2,cols=3", 40),
                   "stage 2: 20 bytes do not fit transpose"));
  EXPECT_TRUE(refusal_of("scale", 5).starts_with("5 bytes do not fit scale"));
}

TEST(Pipeline, RefusesAJobBeyondTheLimit) {
  EXPECT_EQ(refusal_of("copy", kMostJobBytes), "");
  EXPECT_TRUE(says(refusal_of("copy", kMostJobBytes + 1), "a job of 70368744177665 bytes"));
}

TEST(Pipeline, RefusesAStageWhoseSizesAreBeyondTheLimitAndNamesBoth) {
  const std::string enlarged = "resize:width=1,height=1,out_width=1000,out_height=1000";
  EXPECT_EQ(refusal_of(enlarged + "|" + enlarged, 1), "");
  EXPECT_EQ(refusal_of(enlarged + "|" + enlarged + "|" + enlarged + "|copy", 1),
            "stage 3 (resize): a job would have 1000000000000000000 bytes of output, the limit is "
            "70368744177664; send less");
  const std::string blurred = "gaussian_blur:width=1,height=4,sigma=5";
  EXPECT_EQ(refusal_of(blurred, kMostJobBytes / 2), "");
  EXPECT_TRUE(says(refusal_of(blurred, kMostJobBytes / 2 + 4),
                   "stage 1 (gaussian_blur): a job would have 70368744177672 bytes of workspace"));
  EXPECT_EQ(refusal_of("integrate", kMostJobBytes / 4), "");
  EXPECT_TRUE(says(refusal_of("copy|integrate", kMostJobBytes / 2), "stage 2 (integrate)"));
  EXPECT_TRUE(says(refusal_of("copy|integrate", kMostJobBytes / 2), "bytes of state"));
}

TEST(Pipeline, FindsTheLargestInputThatFits) {
  struct Case {
    std::string_view text;
    std::uint64_t capacity_bytes;
    std::uint64_t largest_bytes;
  };
  const Case cases[] = {
      {"copy", 0, 0},
      {"copy", 1'000'001, 1'000'001},
      {"scale", 3, 0},
      {"scale", 4, 4},
      {"scale:type=f64", 1'000'001, 1'000'000},
      {"transpose", 4'194'303, 0},
      {"transpose", 4'194'304, 4'194'304},
      {"vector_add|transpose:rows=2,cols=3", 100, 96},
      {"vector_add|transpose:rows=2,cols=3", 47, 0},
      {"copy|transpose:rows=5,cols=1|scale:type=f64", 100, 80},
      {"copy|transpose:rows=1048576,cols=1048576", 1ULL << 43U, 1ULL << 43U},
      {"vector_add|vector_add|vector_add", 0xffff'ffff'ffff'ffffULL, kMostJobBytes},
      {"transpose:rows=1048573,cols=1048571|transpose:rows=1048571,cols=1048559", 1ULL << 50U, 0},
  };
  for (const Case& expected : cases) {
    EXPECT_EQ(parse(expected.text).largest_input_bytes(expected.capacity_bytes),
              expected.largest_bytes)
        << expected.text << " in " << expected.capacity_bytes;
  }
}

TEST(Pipeline, FindsTheLargestInputWithinTheLimitsOfItsStages) {
  struct Case {
    std::string text;
    std::uint64_t capacity_bytes;
    std::uint64_t largest_bytes;
  };
  const std::uint64_t capacity = 64ULL << 20U;
  const std::string enlarged = "resize:width=8,height=8,out_width=800,out_height=800";
  const Case cases[] = {
      // 6710 frames of 640000 pixels are fewer than 2^32.
      {enlarged + "|histogram", capacity, 6710ULL * 64},
      {enlarged + "|histogram", 6710ULL * 64 + 63, 6710ULL * 64},
      {enlarged + "|histogram", 64, 64},
      {enlarged + "|reduce:type=u8", capacity, 6710ULL * 64},
      {enlarged + "|reduce:type=u8|scale:type=f64|histogram:type=f32", capacity, 6710ULL * 64},
      {"histogram", 1ULL << 40U, 0xffff'ffffULL},
      {"convert:from=u8,to=f64|histogram:type=f32", 1ULL << 40U, 0x7fff'ffffULL},
      {"resize:width=1,height=1,out_width=65535,out_height=65535", 1ULL << 30U, 16'384},
      {"histogram:bins=3|power_spectrum", capacity, 0},
      {"gaussian_blur:width=1,height=4,sigma=50|histogram:bins=3|power_spectrum", capacity, 0},
      {"histogram:bins=4|power_spectrum", capacity - 1, capacity - 1},
  };
  for (const Case& expected : cases) {
    const Pipeline sut = parse(expected.text);
    EXPECT_EQ(sut.largest_input_bytes(expected.capacity_bytes), expected.largest_bytes)
        << expected.text << " in " << expected.capacity_bytes;
    EXPECT_TRUE(std::holds_alternative<PipelinePlan>(sut.plan(expected.largest_bytes)));
  }
}

/// Accepts the sizes that it is told to, and counts how often it is asked.
class ChoosyKernel final : public Kernel {
 public:
  explicit ChoosyKernel(std::function<bool(std::uint64_t)> accepts)
      : accepts_(std::move(accepts)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "choosy"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "for tests"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView) const noexcept override { return 1; }
  [[nodiscard]] PlanOrRefusal plan(ParameterView, std::uint64_t input_bytes) const override {
    ++asked;
    if (!accepts_(input_bytes)) {
      return Refusal{"not this one"};
    }
    Plan plan;
    plan.max_output_bytes = input_bytes;
    return plan;
  }
  void run(const overlap_batch&) const override {}
  [[nodiscard]] bool has_cuda() const noexcept override { return false; }
  [[nodiscard]] int launch(const overlap_batch&, OpaqueStream) const override { return 0; }
  std::uint64_t reference(const ReferenceJob&) const override { return 0; }

  mutable std::uint64_t asked = 0;

 private:
  std::function<bool(std::uint64_t)> accepts_;
};

std::uint64_t largest_of(const ChoosyKernel& kernel, std::uint64_t capacity_bytes) {
  return Pipeline("choosy", {Stage{&kernel, {}}}).largest_input_bytes(capacity_bytes);
}

TEST(Pipeline, AsksAFewTimesForTheLargestInputThatFits) {
  const ChoosyKernel refuses_all([](std::uint64_t) { return false; });
  EXPECT_EQ(largest_of(refuses_all, 1ULL << 46U), 0U);
  EXPECT_LT(refuses_all.asked, 1100U);
  for (const std::uint64_t limit : {1ULL, 2ULL, 4095ULL, 1ULL << 30U, (1ULL << 46U) - 1}) {
    const ChoosyKernel sut([limit](std::uint64_t bytes) { return bytes <= limit; });
    EXPECT_EQ(largest_of(sut, 1ULL << 46U), limit);
    EXPECT_LT(sut.asked, 1100U) << limit;
  }
}

TEST(Pipeline, FindsTheLargestInputNearTheCapacityWhereSizesInBetweenAreRefused) {
  const ChoosyKernel sevens([](std::uint64_t bytes) { return bytes % 700 == 0 || bytes == 1; });
  EXPECT_EQ(largest_of(sevens, 70'699), 70'000U);
  const ChoosyKernel low([](std::uint64_t bytes) { return bytes <= 3 || bytes == 9'000; });
  EXPECT_EQ(largest_of(low, 10'000), 9'000U);
  EXPECT_EQ(largest_of(low, 1'000'000), 3U) << "too far from the capacity";
}

TEST(Pipeline, ReferenceRunsTheStagesOneAfterTheOther) {
  const auto result = parse("vector_add|scale:a=10,b=1|transpose:rows=2,cols=2")
                          .reference(bytes_of<float>({1, 2, 3, 4, 10, 20, 30, 40}));
  EXPECT_EQ(elements_of<float>(result), (std::vector<float>{111, 331, 221, 441}));
}

TEST(Pipeline, ReferenceRefusesASizeThatDoesNotFit) {
  EXPECT_THROW((void)parse("scale").reference(bytes_of<std::uint8_t>({1, 2, 3})), PipelineError);
}

}  // namespace
}  // namespace overlap::test
