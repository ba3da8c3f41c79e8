#include "daemon/control/attach_plan.hpp"

#include "daemon/engine/batch.hpp"
#include "shared/channel_layout.hpp"
#include "tests/unit/says.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {
namespace {

using testing::says;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr GeometryLimits kLimits{1024, 16 * kMiB, kMiB, 256 * kMiB};
constexpr GeometryLimits kNoLimits{UINT32_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

AttachRequest request(const GeometryRequest& geometry = {4, 4096, 4096, 0},
                      const std::vector<std::string>& pipelines = {"copy"}) {
  return make_attach_request(geometry, pipelines);
}

AttachRequest request_for(const std::string& pipeline, std::uint64_t input_bytes,
                          std::uint64_t output_bytes = 0) {
  return request({4, input_bytes, output_bytes, 0}, {pipeline});
}

std::variant<AttachPlan, AttachRefusal> plan(const AttachRequest& asked,
                                             const GeometryLimits& limits = kLimits) {
  return plan_attach(asked, testing::scripted_registry(), limits, false);
}

/// Why not; `accepted` without a text if there is a plan.
AttachRefusal refusal(const AttachRequest& asked, const GeometryLimits& limits = kLimits) {
  const auto sut = plan(asked, limits);
  const auto* refused = std::get_if<AttachRefusal>(&sut);
  return refused == nullptr ? AttachRefusal{AttachCode::accepted, {}} : *refused;
}

::testing::AssertionResult is_refused(const AttachRequest& asked, AttachCode code,
                                      std::initializer_list<std::string_view> parts) {
  const AttachRefusal refused = refusal(asked);
  if (refused.code != code) {
    return ::testing::AssertionFailure()
           << "ended as " << attach_code_text(refused.code) << ": " << refused.text;
  }
  return says(refused.text, parts);
}

TEST(AttachPlan, AcceptsWhatCanBeMade) {
  const auto sut = plan(request({4, 10000, 20000, 100}, {"copy", "scale:a=2|scale:b=1"}));
  const auto* planned = std::get_if<AttachPlan>(&sut);
  ASSERT_NE(planned, nullptr) << std::get<AttachRefusal>(sut).text;
  EXPECT_EQ(planned->negotiated.abi_minor, kAbiMinor);
  EXPECT_EQ(planned->negotiated.features, kSupportedFeatures);
  EXPECT_EQ(planned->geometry.slot_count, 4U);
  EXPECT_EQ(planned->geometry.input_bytes, 10000U);
  EXPECT_EQ(planned->geometry.output_bytes, 20000U);
  EXPECT_EQ(planned->geometry.table_bytes, 100U);
  ASSERT_EQ(planned->pipelines.size(), 2U);
  EXPECT_EQ(planned->pipelines[0].text(), "copy");
  EXPECT_EQ(planned->pipelines[1].stages().size(), 2U);
}

TEST(AttachPlan, AcceptsOneSlotOfOneByte) {
  EXPECT_EQ(refusal(request({1, 1, 1, 0})).code, AttachCode::accepted);
}

TEST(AttachPlan, AcceptsAsMuchAsTheLimitsAllow) {
  EXPECT_EQ(refusal(request({1024, 4096, 4096, 0})).code, AttachCode::accepted);
  EXPECT_EQ(refusal(request({1, 16 * kMiB, 16 * kMiB, kMiB})).code, AttachCode::accepted);
}

TEST(AttachPlan, RefusesSizesOfZero) {
  EXPECT_TRUE(is_refused(request({0, 4096, 4096, 0}), AttachCode::geometry_refused,
                         {"slots is 0", "at least one slot"}));
  EXPECT_TRUE(is_refused(request({4, 0, 4096, 0}), AttachCode::geometry_refused,
                         {"input bytes is 0", "at least one byte"}));
}

TEST(AttachPlan, RefusesWhatIsBeyondALimitAndNamesIt) {
  EXPECT_TRUE(is_refused(request({1025, 4096, 4096, 0}), AttachCode::geometry_refused,
                         {"slots is 1025", "the limit is 1024", "ask for less"}));
  EXPECT_TRUE(is_refused(request({1, 16 * kMiB + 1, 1, 0}), AttachCode::geometry_refused,
                         {"input bytes is", "the limit is 16MiB", "ask for less"}));
  EXPECT_TRUE(is_refused(request({1, 1, 16 * kMiB + 1, 0}), AttachCode::geometry_refused,
                         {"output bytes is", "the limit is 16MiB", "ask for less"}));
  EXPECT_TRUE(is_refused(request({1, 1, 1, kMiB + 1}), AttachCode::geometry_refused,
                         {"table bytes is", "the limit is 1MiB", "ask for less"}));
  EXPECT_TRUE(is_refused(request({16, 16 * kMiB, 16 * kMiB, 0}), AttachCode::geometry_refused,
                         {"channel bytes is", "the limit is 256MiB", "ask for less"}));
}

TEST(AttachPlan, RefusesCountsThatOverflowWhateverTheLimits) {
  const std::vector<std::uint64_t> sizes{std::uint64_t{1} << 31U, (std::uint64_t{1} << 32U) - 1,
                                         std::uint64_t{1} << 62U, std::uint64_t{1} << 63U,
                                         UINT64_MAX - 31,         UINT64_MAX};
  for (const std::uint64_t input : sizes) {
    for (const std::uint64_t output : sizes) {
      for (const std::uint32_t slots : {kMaxSlotCount, kMaxSlotCount + 1, UINT32_MAX}) {
        const auto sut = plan(request({slots, input, output, 0}), kNoLimits);
        if (const auto* planned = std::get_if<AttachPlan>(&sut)) {
          // 2^20 slots of up to 4 GiB do fit 64 bits; nothing may have been cut off.
          EXPECT_EQ(planned->geometry.total_bytes / slots / 4096,
                    (planned->geometry.input_stride_bytes + planned->geometry.output_stride_bytes) /
                        4096);
        } else {
          EXPECT_EQ(std::get<AttachRefusal>(sut).code, AttachCode::geometry_refused);
        }
      }
    }
  }
}

TEST(AttachPlan, HoldsEverySizeAgainstTheLimitsExactly) {
  const std::uint64_t cap = kLimits.max_slot_bytes;
  const std::vector<std::uint64_t> sizes{1,
                                         4095,
                                         4096,
                                         cap - 1,
                                         cap,
                                         cap + 1,
                                         (std::uint64_t{1} << 31U) - 1,
                                         std::uint64_t{1} << 31U,
                                         (std::uint64_t{1} << 32U) - 1,
                                         std::uint64_t{1} << 32U,
                                         (std::uint64_t{1} << 63U) - 1,
                                         std::uint64_t{1} << 63U,
                                         UINT64_MAX - 31,
                                         UINT64_MAX};
  for (const std::uint64_t input : sizes) {
    for (const std::uint64_t output : sizes) {
      const bool fits = input <= cap && output <= cap && output >= input;
      EXPECT_EQ(refusal(request({1, input, output, 0})).code == AttachCode::accepted, fits)
          << input << " in, " << output << " out";
    }
  }
}

TEST(AttachPlan, RefusesAnUnknownKernelAndNamesTheKnownOnes) {
  EXPECT_TRUE(is_refused(request_for("sclae", 4096), AttachCode::pipeline_refused,
                         {"'sclae'", "unknown kernel", "scale", "copy"}));
}

TEST(AttachPlan, RefusesAnUnknownParameterAndNamesTheKnownOnes) {
  EXPECT_TRUE(is_refused(request_for("scale:z=1", 4096), AttachCode::pipeline_refused,
                         {"'z'", "unknown parameter", "type"}));
}

TEST(AttachPlan, RefusesAParameterOutOfRangeAndNamesTheRange) {
  EXPECT_TRUE(is_refused(request_for("transpose:rows=0,cols=4", 4096), AttachCode::pipeline_refused,
                         {"rows='0'", "out of range", "rows takes"}));
  EXPECT_TRUE(is_refused(request_for("scale:a=nan", 4096), AttachCode::pipeline_refused,
                         {"'nan'", "a takes"}));
}

TEST(AttachPlan, RefusesTheSecondPipelineForItsOwnFault) {
  EXPECT_TRUE(is_refused(request({4, 4096, 0, 0}, {"copy", "nonsense"}),
                         AttachCode::pipeline_refused, {"'nonsense'"}));
}

TEST(AttachPlan, ShowsNoRawBytesOfAPipelineText) {
  const AttachRefusal sut = refusal(request_for("evil\n[error] all is lost\x1b[2J", 4096));
  EXPECT_EQ(sut.code, AttachCode::pipeline_refused);
  for (const char c : sut.text) {
    EXPECT_TRUE(c >= ' ' && c <= '~') << static_cast<int>(c);
  }
}

TEST(AttachPlan, RefusesAnInputAreaShorterThanTheKernelNeeds) {
  EXPECT_TRUE(is_refused(request_for("transpose:rows=64,cols=64", 16383),
                         AttachCode::pipeline_refused,
                         {"shorter than pipeline", "transpose", "16KiB", "larger slots"}));
  EXPECT_TRUE(is_refused(request_for("scale:type=f64", 7), AttachCode::pipeline_refused,
                         {"8", "larger slots"}));
  EXPECT_EQ(refusal(request_for("transpose:rows=64,cols=64", 16384)).code, AttachCode::accepted);
}

TEST(AttachPlan, RefusesAnOutputAreaThatIsTooSmallAndNamesBothSizes) {
  EXPECT_TRUE(is_refused(request_for("copy", 8192, 8191), AttachCode::geometry_refused,
                         {"pipeline", "copy", "8KiB", "8191", "ask for larger output areas", "0"}));
  EXPECT_TRUE(
      is_refused(request_for("twice", 8192, 16383), AttachCode::geometry_refused, {"16KiB"}));
  EXPECT_EQ(refusal(request_for("twice", 8192, 16384)).code, AttachCode::accepted);
}

TEST(AttachPlan, AsksForNoOutputOfThePartThatMakesNoWholeElement) {
  // 8195 bytes hold 2048 elements of 4 bytes.
  EXPECT_EQ(refusal(request_for("scale", 8195, 8192)).code, AttachCode::accepted);
  EXPECT_EQ(refusal(request_for("scale", 8195, 8191)).code, AttachCode::geometry_refused);
}

TEST(AttachPlan, ChoosesTheLargestOutputAreaWhereItIsLeftToTheDaemon) {
  const auto output_bytes = [](const std::vector<std::string>& pipelines) {
    const auto sut = plan(request({4, 1000, 0, 0}, pipelines));
    return std::get<AttachPlan>(sut).geometry.output_bytes;
  };
  EXPECT_EQ(output_bytes({"copy"}), 1000U);
  EXPECT_EQ(output_bytes({"copy", "twice", "scale"}), 2000U);
  EXPECT_EQ(output_bytes({"twice|twice"}), 4000U);
  EXPECT_EQ(output_bytes({"vector_add"}), 500U);
}

TEST(AttachPlan, RefusesAnOutputBeyondTheLimitThatWasLeftToTheDaemon) {
  EXPECT_TRUE(is_refused(request_for("twice", 8 * kMiB + 1), AttachCode::geometry_refused,
                         {"output bytes is", "the limit is 16MiB"}));
}

std::string stages(std::size_t count) {
  std::string text = "copy";
  for (std::size_t i = 1; i < count; ++i) {
    text += "|copy";
  }
  return text;
}

TEST(AttachPlan, RefusesTooManyStages) {
  EXPECT_EQ(refusal(request_for(stages(kMaxStages), 4096)).code, AttachCode::accepted);
  EXPECT_TRUE(is_refused(request_for(stages(kMaxStages + 1), 4096), AttachCode::pipeline_refused,
                         {"9 stages", "the limit is 8", "split it"}));
}

TEST(AttachPlan, SaysWhatToDoWithinTheRoomOfAReplyHoweverLongThePipeline) {
  EXPECT_TRUE(is_refused(request_for(stages(800), 4096), AttachCode::pipeline_refused,
                         {"800 stages", "split it"}));
  EXPECT_LT(refusal(request_for(stages(800), 4096)).text.size(), kMaxReplyTextBytes);
}

TEST(AttachPlan, TakesThirtyTwoPipelinesAndNoMore) {
  const std::vector<std::string> most(kMaxPipelines, "copy");
  EXPECT_EQ(refusal(request({4, 4096, 0, 0}, most)).code, AttachCode::accepted);
  AttachRequest asked = request({4, 4096, 0, 0}, most);
  asked.pipeline_count = kMaxPipelines + 1;
  EXPECT_TRUE(
      is_refused(asked, AttachCode::malformed_request, {"list of pipelines", "name at least one"}));
}

TEST(AttachPlan, RefusesAnEmptyOrDamagedListOfPipelines) {
  EXPECT_TRUE(is_refused(request({4, 4096, 0, 0}, {}), AttachCode::malformed_request,
                         {"empty or damaged", "name at least one"}));
  for (const std::uint32_t bytes : {0U, 4U, 6U, 4096U, 4097U, UINT32_MAX}) {
    AttachRequest asked = request();
    asked.pipeline_text_bytes = bytes;
    EXPECT_TRUE(is_refused(asked, AttachCode::malformed_request, {"empty or damaged"}));
  }
  EXPECT_TRUE(is_refused(request({4, 4096, 0, 0}, {""}), AttachCode::pipeline_refused,
                         {"empty", "name at least one"}));
}

TEST(AttachPlan, RefusesAnotherVersionAndNamesBoth) {
  AttachRequest newer = request();
  newer.abi_major = kAbiMajor + 1;
  EXPECT_TRUE(
      is_refused(newer, AttachCode::version_mismatch,
                 {"the daemon speaks", "1.0", "the producer 2.0", "install matching versions"}));
  AttachRequest older = request();
  older.abi_major = kAbiMajor - 1;
  EXPECT_TRUE(is_refused(older, AttachCode::version_mismatch, {"the producer 0.0"}));
  AttachRequest minor = request();
  minor.abi_minor_min = kAbiMinor + 1;
  minor.abi_minor_max = kAbiMinor + 2;
  EXPECT_TRUE(is_refused(minor, AttachCode::version_mismatch, {"1.1-2"}));
  AttachRequest range = request();
  range.abi_minor_max = kAbiMinor + 7;
  EXPECT_EQ(refusal(range).code, AttachCode::accepted);
}

TEST(AttachPlan, RefusesAnotherPlatformAndNamesBoth) {
  AttachRequest machine = request();
  write_text(machine.architecture, "pdp11");
  EXPECT_TRUE(
      is_refused(machine, AttachCode::platform_mismatch, {"pdp11", "build both for the same"}));
  AttachRequest libc = request();
  write_text(libc.libc, "musl");
  EXPECT_TRUE(is_refused(libc, AttachCode::platform_mismatch, {"musl", "glibc"}));
  AttachRequest semaphore = request();
  semaphore.semaphore_bytes = 16;
  EXPECT_TRUE(is_refused(semaphore, AttachCode::platform_mismatch, {"sem_t of 32 bytes", ", 16,"}));
  AttachRequest page = request();
  page.page_bytes = 65536;
  EXPECT_TRUE(is_refused(page, AttachCode::platform_mismatch, {"65536"}));
}

TEST(AttachPlan, RefusesFeaturesAndOutputLocationsThatItLacks) {
  AttachRequest feature = request();
  feature.features_required = kSupportedFeatures + 1;
  EXPECT_TRUE(
      is_refused(feature, AttachCode::feature_missing, {"feature bits 8", "update the daemon"}));
  AttachRequest location = request();
  location.output_location = static_cast<OutputLocation>(9);
  EXPECT_TRUE(is_refused(location, AttachCode::feature_missing, {"output location 9", "host (0)"}));
}

TEST(AttachPlan, RefusesOnAGpuAKernelThatRunsOnTheHostAlone) {
  const auto sut =
      plan_attach(request_for("twice", 4096), testing::scripted_registry(), kLimits, true);
  const auto* refused = std::get_if<AttachRefusal>(&sut);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->code, AttachCode::pipeline_refused);
  EXPECT_TRUE(says(refused->text, {"'twice'", "no CUDA implementation", "backend=host"}));
}

/// A kernel whose plan is as a test says.
class PlannedKernel final : public Kernel {
 public:
  PlannedKernel(Plan plan, std::size_t parameter_count)
      : plan_(plan),
        parameters_(parameter_count, Parameter{"p", ParameterType::integer, {}, 0, 0, {}, {}, {}}) {
  }

  [[nodiscard]] std::string_view name() const noexcept override { return "planned"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "for tests"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    return parameters_;
  }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override {
    return 1;
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView /*params*/,
                                   std::uint64_t input_bytes) const override {
    Plan plan = plan_;
    plan.max_output_bytes = input_bytes;
    return plan;
  }
  void run(const overlap_batch& /*batch*/) const override {}
  [[nodiscard]] bool has_cuda() const noexcept override { return true; }
  [[nodiscard]] int launch(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) const override {
    return 0;
  }
  std::uint64_t reference(const ReferenceJob& job) const override { return job.input.size(); }

 private:
  Plan plan_;
  std::vector<Parameter> parameters_;
};

AttachRefusal refusal_of(Plan plan, std::size_t parameter_count, const std::string& pipeline) {
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  kernels.add(std::make_unique<PlannedKernel>(plan, parameter_count));
  const auto sut = plan_attach(request_for(pipeline, 4096), kernels, kLimits, false);
  const auto* refused = std::get_if<AttachRefusal>(&sut);
  return refused == nullptr ? AttachRefusal{AttachCode::accepted, {}} : *refused;
}

TEST(AttachPlan, RefusesResultsOfAnySizeButAtTheEnd) {
  Plan any_size;
  any_size.output_size = OutputSize::up_to;
  const AttachRefusal sut = refusal_of(any_size, 0, "scale|planned|scale");
  EXPECT_EQ(sut.code, AttachCode::pipeline_refused);
  EXPECT_TRUE(says(sut.text, {"stage 2", "put it last"}));
  EXPECT_EQ(refusal_of(any_size, 0, "scale|planned").code, AttachCode::accepted);
  Plan all_or_nothing;
  all_or_nothing.output_size = OutputSize::all_or_nothing;
  EXPECT_EQ(refusal_of(all_or_nothing, 0, "scale|planned|scale").code, AttachCode::accepted);
}

TEST(AttachPlan, SaysWhichPipelinesKeepState) {
  Plan stateful;
  stateful.state_bytes = 8;
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  kernels.add(std::make_unique<PlannedKernel>(stateful, 0));
  AttachRequest request =
      make_attach_request({4, 4096, 0, 0}, std::vector<std::string>{"copy", "scale|planned"});
  request.flags = kAttachHistoryLost;
  const auto planned = plan_attach(request, kernels, kLimits, false);
  const auto* sut = std::get_if<AttachPlan>(&planned);
  ASSERT_NE(sut, nullptr);
  EXPECT_EQ(sut->stateful_pipelines, 0b10U);
  EXPECT_TRUE(sut->history_lost);
}

/// Names the one table of 256 bytes that `lut:channels=1` wants, at the start of the region.
void name_table(AttachRequest& request, std::uint8_t pipeline_index) {
  request.table_count = 1;
  request.tables[0] = {.offset_bytes = 0,
                       .bytes = 256,
                       .pipeline_index = pipeline_index,
                       .stage_index = 0,
                       .reserved_0 = 0,
                       .reserved_1 = 0};
}

TEST(AttachPlan, CountsWhatKernelsAndTablesKeepOnTheDevice) {
  Plan stateful;
  stateful.state_bytes = 3 * kMiB;
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  kernels.add(std::make_unique<PlannedKernel>(stateful, 0));
  AttachRequest request = make_attach_request(
      {4, 4096, 0, 512}, std::vector<std::string>{"planned|scale|planned", "lut:channels=1"});
  name_table(request, 1);
  const auto planned = plan_attach(request, kernels, kLimits, false);
  const auto* sut = std::get_if<AttachPlan>(&planned);
  ASSERT_NE(sut, nullptr) << std::get<AttachRefusal>(planned).text;
  EXPECT_EQ(sut->kept_bytes, 2 * 3 * kMiB + 256 + 64 * 256);
}

TEST(AttachPlan, RefusesToKeepMoreThanAChannelMayHave) {
  for (const std::uint64_t state_bytes : {200 * kMiB, 256 * kMiB, std::uint64_t{1} << 45U}) {
    Plan stateful;
    stateful.state_bytes = state_bytes;
    const AttachRefusal sut = refusal_of(stateful, 0, "planned|planned|planned|planned|planned");
    EXPECT_EQ(sut.code, AttachCode::geometry_refused);
    EXPECT_TRUE(says(sut.text, {"keep", "256MiB", "max-channel-bytes"}));
  }
  Plan stateful;
  stateful.state_bytes = 256 * kMiB;
  const AttachRefusal together = refusal_of(stateful, 0, "planned");
  EXPECT_EQ(together.code, AttachCode::geometry_refused) << "with the channel's own memory";
  EXPECT_TRUE(says(together.text, {"keep 256MiB", "the limit is 256MiB"}));
}

TEST(AttachPlan, RefusesAStageThatTakesMoreThanAChannelMayHave) {
  Plan greedy;
  greedy.workspace_bytes = 257 * kMiB;
  const AttachRefusal beside = refusal_of(greedy, 0, "scale|planned");
  EXPECT_EQ(beside.code, AttachCode::pipeline_refused);
  EXPECT_TRUE(says(beside.text, {"stage 2", "257MiB", "max-channel-bytes"}));
  const std::string up = "resize:width=1,height=1,out_width=32768,out_height=32768";
  const std::string down = "resize:width=32768,height=32768,out_width=1,out_height=1";
  EXPECT_TRUE(is_refused(request_for(up + "|" + down, 1), AttachCode::pipeline_refused,
                         {"stage 1", "1GiB", "max-channel-bytes"}));
}

TEST(AttachPlan, RefusesWhatAnOlderLibraryCannotTellTheLossOf) {
  AttachRequest sut = request_for("integrate:count=2", 4096);
  sut.features_offered = kFeatureTables;
  EXPECT_TRUE(is_refused(sut, AttachCode::feature_missing, {"'integrate:count=2'", "newer"}));
  sut.features_offered = kFeatureState;
  EXPECT_EQ(refusal(sut).code, AttachCode::accepted);
  AttachRequest table = request({4, 4096, 0, 512}, {"lut:channels=1"});
  name_table(table, 0);
  EXPECT_EQ(refusal(table).code, AttachCode::accepted) << refusal(table).text;
  table.features_offered = kFeatureState;
  EXPECT_TRUE(is_refused(table, AttachCode::feature_missing, {"tables", "newer"}));
}

TEST(AttachPlan, RefusesAKernelWithMoreParametersThanALaneHolds) {
  EXPECT_EQ(refusal_of(Plan{}, kMaxStageParameters, "planned").code, AttachCode::accepted);
  const AttachRefusal sut = refusal_of(Plan{}, kMaxStageParameters + 1, "planned");
  EXPECT_EQ(sut.code, AttachCode::pipeline_refused);
  EXPECT_TRUE(says(sut.text, {"'planned'", "too many parameters"}));
}

/// Runs on a GPU alone.
class GpuOnlyKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "gpu_only"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "on a GPU"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView) const noexcept override { return 1; }
  [[nodiscard]] PlanOrRefusal plan(ParameterView, std::uint64_t input_bytes) const override {
    Plan plan;
    plan.max_output_bytes = input_bytes;
    return plan;
  }
  [[nodiscard]] bool has_host() const noexcept override { return false; }
  void run(const overlap_batch&) const override {}
  [[nodiscard]] bool has_cuda() const noexcept override { return true; }
  [[nodiscard]] int launch(const overlap_batch&, OpaqueStream) const override { return 0; }
  std::uint64_t reference(const ReferenceJob& job) const override { return job.input.size(); }
};

TEST(AttachPlan, RefusesAKernelWithoutAHostSideOnTheHostAlone) {
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  kernels.add(std::make_unique<GpuOnlyKernel>());
  const auto on_host = plan_attach(request_for("copy|gpu_only", 4096), kernels, kLimits, false);
  const auto* refused = std::get_if<AttachRefusal>(&on_host);
  ASSERT_NE(refused, nullptr);
  EXPECT_EQ(refused->code, AttachCode::pipeline_refused);
  EXPECT_TRUE(says(refused->text, {"'gpu_only'", "no host implementation", "backend=cuda"}));
  const auto on_gpu = plan_attach(request_for("gpu_only", 4096), kernels, kLimits, true);
  EXPECT_TRUE(std::holds_alternative<AttachPlan>(on_gpu));
}

}  // namespace
}  // namespace overlap
