#include "producer/job_table.hpp"
#include "tests/unit/engine_harness.hpp"
#include "tests/unit/keeping_kernels.hpp"
#include "tests/unit/number_jobs.hpp"

#include <gtest/gtest.h>

#include <algorithm>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::keeping_registry;
using testing::kUnlucky;
using testing::NumberJobs;

using Numbers = std::vector<std::uint64_t>;
constexpr std::uint64_t kNone = NumberJobs::kNone;
constexpr ChannelHarness::Shape kShape = {.slot_count = 32, .input_bytes = 256};

EngineSettings one_job_a_batch(std::uint32_t lanes) {
  EngineSettings settings;
  settings.lane_count = lanes;
  settings.max_batch_jobs = 1;
  return settings;
}

/// Positions, from 0, of the outcomes that say that history was lost.
std::vector<std::size_t> discontinuities(const std::vector<NumberJobs::Outcome>& outcomes) {
  std::vector<std::size_t> where;
  for (std::size_t i = 0; i < outcomes.size(); ++i) {
    if (outcomes[i].discontinuity) {
      where.push_back(i);
    }
  }
  return where;
}

// ms for `job_count` jobs that are all ready at 0.
double elapsed_ms(std::uint32_t job_count, std::uint32_t lanes, VirtualResources resources) {
  EngineHarness sut(one_job_a_batch(lanes), {.copy_in = 10ms, .copy_out = 10ms, .kernel = 30ms},
                    resources);
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  Numbers sums;
  for (std::uint32_t i = 1; i <= job_count; ++i) {
    jobs.submit(i * 100);
    sums.push_back(std::uint64_t{i} * (i + 1) / 2 * 100);
  }
  sut.run();
  EXPECT_EQ(jobs.numbers(), sums);
  return static_cast<double>(sut.device.last_end_ns()) / 1e6;
}

TEST(EngineState, KernelsRunInOrderAndTheCopiesOfNeighboursOverlap) {
  EXPECT_EQ(elapsed_ms(1, 4, {}), 50);
  EXPECT_EQ(elapsed_ms(3, 4, {}), 110);
  EXPECT_EQ(elapsed_ms(10, 4, {}), 320);
}

TEST(EngineState, KernelsRunInOrderThoughTheDeviceHasRoomForSeveral) {
  const VirtualResources roomy = {.sm_count = 132, .kernel_sm_count = 33};
  EXPECT_EQ(elapsed_ms(3, 4, roomy), 110);
  EXPECT_EQ(elapsed_ms(10, 4, roomy), 320);
  EXPECT_EQ(elapsed_ms(10, 4, {.kernel_sm_count = 33, .works_in_place = true}), 300);
}

TEST(EngineState, IsAChannelsOwnInABatchOfSeveral) {
  EngineHarness sut;
  ChannelHarness& first = sut.attach({"running_sum"}, kShape, &keeping_registry());
  ChannelHarness& second = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs a(first);
  NumberJobs b(second);
  a.submit_all({1, 2, 3});
  b.submit_all({100, 200});
  sut.run();
  EXPECT_EQ(a.numbers(), (Numbers{1, 3, 6}));
  EXPECT_EQ(b.numbers(), (Numbers{100, 300}));
  a.submit_all({4});
  b.submit_all({300});
  sut.run();
  EXPECT_EQ(a.numbers(), (Numbers{10}));
  EXPECT_EQ(b.numbers(), (Numbers{600}));
  EXPECT_EQ(sut.engine.counters().batches, 2U);
}

TEST(EngineState, IsOnePerPipelineOfAChannel) {
  EngineHarness sut;
  ChannelHarness& producer =
      sut.attach({"running_sum", "running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  for (const std::uint8_t pipeline : std::initializer_list<std::uint8_t>{0, 1, 0, 1}) {
    SubmissionEntry entry{};
    entry.pipeline_index = pipeline;
    jobs.submit(pipeline + 1, entry);
  }
  sut.run();
  EXPECT_EQ(jobs.numbers(), (Numbers{1, 2, 2, 4}));
}

TEST(EngineState, BeginsAnewWhereTheProducerAsksForIt) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  jobs.submit_all({1, 2});
  jobs.reset_state();
  jobs.submit_all({10, 20});
  jobs.reset_state();
  jobs.reset_state();
  jobs.submit_all({100});
  sut.run();
  const auto outcomes = jobs.outcomes();
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{1, 3, 10, 30, 100}));
  EXPECT_TRUE(discontinuities(outcomes).empty()) << "it was asked for";
}

TEST(EngineState, AResetOfAPipelineThatThereIsNotIsAViolation) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs(producer).reset_state(1);
  sut.run();
  ASSERT_EQ(sut.listener.violations.size(), 1U);
}

TEST(EngineState, SaysSoAfterAJobThatWasNotRun) {
  EngineHarness sut(one_job_a_batch(1));
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  SubmissionEntry misfit{};
  misfit.input_bytes = 512;
  jobs.submit(1);
  jobs.submit(2, misfit);
  jobs.submit_all({3, 4});
  sut.run();
  auto outcomes = jobs.outcomes();
  // The refusal comes first: it never had to wait.
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{1, kNone, 3, 7}));
  EXPECT_EQ(discontinuities(outcomes), (std::vector<std::size_t>{2}));
}

TEST(EngineState, SaysSoAfterAJobThatTheProducerWantedRefused) {
  EngineHarness sut(one_job_a_batch(1));
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  SubmissionEntry unwanted{};
  unwanted.flags = kSubmissionRefuse;
  jobs.submit(1);
  jobs.submit(2, unwanted);
  jobs.submit_all({3, 4});
  sut.run();
  auto outcomes = jobs.outcomes();
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{1, kNone, 3, 7}));
  EXPECT_EQ(outcomes[1].status, JobStatus::request_refused);
  EXPECT_EQ(discontinuities(outcomes), (std::vector<std::size_t>{2}));
}

TEST(EngineState, SaysSoAfterJobsThatExpiredOrWereCancelledInTheQueue) {
  EngineHarness sut(one_job_a_batch(1), {.kernel = 1ms});
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  sut.device.hold_kernels(true);
  jobs.submit_all({10, 10, 10});
  SubmissionEntry soon{};
  soon.deadline_ns = 5;
  jobs.submit(20, soon);
  jobs.submit(30);
  producer.cancel(5, 4);
  jobs.submit_all({40, 50});
  sut.step();
  sut.device.hold_kernels(false);
  sut.run();
  auto outcomes = jobs.outcomes();
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{10, 20, 30, kNone, kNone, 40, 90}));
  EXPECT_EQ(outcomes[3].status, JobStatus::deadline_passed);
  EXPECT_EQ(outcomes[4].status, JobStatus::cancelled);
  EXPECT_EQ(discontinuities(outcomes), (std::vector<std::size_t>{5}));
}

TEST(EngineState, SaysSoAfterAJobThatItsKernelFailed) {
  for (const std::uint32_t jobs_a_batch : {1U, 16U}) {
    EngineSettings settings;
    settings.lane_count = 4;
    settings.max_batch_jobs = jobs_a_batch;
    EngineHarness sut(settings, {.kernel = 1ms});
    ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
    NumberJobs jobs(producer);
    jobs.submit_all({1, 2, kUnlucky, 4, 5});
    sut.run();
    const auto outcomes = jobs.outcomes();
    EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{1, 3, kNone, 4, 9}));
    EXPECT_EQ(outcomes[2].status, JobStatus::kernel_failed);
    EXPECT_EQ(discontinuities(outcomes), (std::vector<std::size_t>{3}));
  }
}

TEST(EngineState, GivesNoResultOfAStateThatAFailedBatchHasSpoilt) {
  EngineHarness sut(one_job_a_batch(4), {.kernel = 1ms});
  ChannelHarness& producer = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  sut.device.fail(VirtualTimeDevice::Call::complete, 2, {DeviceOutcome::failed, 7});
  jobs.submit_all({1, 2, 3, 4, 5, 6, 7, 8, 9, 10});
  sut.run();
  auto outcomes = jobs.outcomes();
  ASSERT_EQ(outcomes.size(), 10U);
  EXPECT_EQ(outcomes[0].number, 1U);
  EXPECT_EQ(outcomes[1].status, JobStatus::kernel_failed) << "and not run once more";
  EXPECT_EQ(sut.engine.counters().jobs_retried, 0U);
  const auto next_good = std::ranges::find_if(outcomes.begin() + 2, outcomes.end(),
                                              [](auto& o) { return o.status == JobStatus::ok; });
  ASSERT_NE(next_good, outcomes.end());
  EXPECT_TRUE(next_good->discontinuity);
  EXPECT_EQ(next_good->number, next_good->job_id) << "its sum begins with itself";
  std::uint64_t sum = 0;
  for (auto outcome = next_good; outcome != outcomes.end(); ++outcome) {
    sum += outcome->job_id;
    EXPECT_EQ(outcome->number, sum);
    EXPECT_EQ(outcome->discontinuity, outcome == next_good);
  }
}

TEST(EngineState, SaysSoInTheFirstResultOfAProducerThatCameBack) {
  EngineHarness sut;
  ChannelHarness::Shape shape = kShape;
  shape.history_lost = true;
  ChannelHarness& producer = sut.attach({"running_sum", "copy"}, shape, &keeping_registry());
  NumberJobs jobs(producer);
  SubmissionEntry stateless{};
  stateless.pipeline_index = 1;
  jobs.submit(7, stateless);
  jobs.submit_all({1, 2});
  sut.run();
  auto outcomes = jobs.outcomes();
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{7, 1, 3}));
  EXPECT_EQ(discontinuities(outcomes), (std::vector<std::size_t>{1}));
}

TEST(EngineState, ThatTheDeviceHasNoMemoryForFailsThatChannelsJobsAlone) {
  EngineHarness sut;
  ChannelHarness& before = sut.attach({"running_sum"}, kShape, &keeping_registry());
  sut.device.fail(VirtualTimeDevice::Call::allocate,
                  sut.device.calls(VirtualTimeDevice::Call::allocate) + 1,
                  {DeviceOutcome::failed, 2});
  ChannelHarness& without = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs good(before);
  NumberJobs bad(without);
  good.submit_all({1, 2});
  bad.submit_all({1, 2});
  good.submit_all({3});
  sut.run();
  EXPECT_EQ(good.numbers(), (Numbers{1, 3, 6}));
  const auto outcomes = bad.outcomes();
  ASSERT_EQ(outcomes.size(), 2U);
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.status, JobStatus::kernel_failed);
  }
}

TEST(EngineState, HasRoomForNoMoreThanTheLargestJobNeeded) {
  // A kernel from elsewhere may keep more for a smaller job.
  EngineHarness sut;
  ChannelHarness& producer =
      sut.attach({"keeps_less_of_more"}, {.slot_count = 4, .input_bytes = 64}, &keeping_registry());
  NumberJobs jobs(producer);
  SubmissionEntry whole{};
  whole.input_bytes = 64;
  jobs.submit(1, whole);
  jobs.submit(1);
  sut.run();
  auto outcomes = jobs.outcomes();
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  ASSERT_EQ(outcomes.size(), 2U);
  EXPECT_EQ(outcomes[0].status, JobStatus::ok);
  EXPECT_EQ(outcomes[1].status, JobStatus::input_size_refused);
}

TEST(EngineState, StaysInOrderThoughABatchFailsBeforeItsKernels) {
  // With four lanes and kernels that would fit side by side, order comes from the event alone.
  EngineSettings settings = one_job_a_batch(4);
  settings.path.only = Path::gather;
  const VirtualResources roomy = {
      .sm_count = 132, .kernel_sm_count = 33, .kernels_reach_pinned = true};
  EngineHarness sut(settings, {.kernel = 1ms}, roomy);
  ChannelHarness& first = sut.attach({"running_sum"}, kShape, &keeping_registry());
  ChannelHarness& second = sut.attach({"running_sum"}, kShape, &keeping_registry());
  NumberJobs a(first);
  NumberJobs b(second);
  a.submit_all({1});
  sut.step();
  b.submit_all({10});
  // The gathering of the second batch.
  sut.device.fail(VirtualTimeDevice::Call::launch,
                  sut.device.calls(VirtualTimeDevice::Call::launch) + 1,
                  {DeviceOutcome::failed, 7});
  sut.step();
  a.submit_all({2, 3});
  sut.run();
  EXPECT_EQ(a.numbers(), (Numbers{1, 3, 6}));
}

// All or nothing, and sizes that are found out, on every way that bytes can take.
class EngineSizes : public ::testing::TestWithParam<VirtualResources> {};

TEST_P(EngineSizes, PassesOnOnlyWhatAStageHasMade) {
  for (const char* const pipeline : {"every_second", "every_second|copy",
                                     "every_second|running_sum|plus:b=0", "copy|every_second"}) {
    for (const std::uint32_t jobs_a_batch : {1U, 16U}) {
      EngineSettings settings;
      settings.max_batch_jobs = jobs_a_batch;
      EngineHarness sut(settings, {}, GetParam());
      ChannelHarness& producer = sut.attach({pipeline}, kShape, &keeping_registry());
      NumberJobs jobs(producer);
      jobs.submit_all({1, 2, 3, 4, 5});
      sut.run();
      const auto outcomes = jobs.outcomes();
      const bool summed = std::string_view(pipeline).find("sum") != std::string_view::npos;
      EXPECT_EQ(NumberJobs::numbers(outcomes),
                (summed ? Numbers{kNone, 2, kNone, 6, kNone} : Numbers{kNone, 2, kNone, 4, kNone}))
          << pipeline << ", " << jobs_a_batch;
      for (const auto& outcome : outcomes) {
        EXPECT_EQ(outcome.status, JobStatus::ok);
      }
    }
  }
}

TEST_P(EngineSizes, GivesAnySizeUpToTheBoundAndRefusesMore) {
  EngineHarness sut({}, {}, GetParam());
  ChannelHarness& producer = sut.attach({"copy|up_to"}, kShape, &keeping_registry());
  NumberJobs jobs(producer);
  jobs.submit_all({0, 1, 8, 9, 5});
  sut.run();
  const auto outcomes = jobs.outcomes();
  ASSERT_EQ(outcomes.size(), 5U);
  EXPECT_EQ(outcomes[0].output_bytes, 0U);
  EXPECT_EQ(outcomes[1].output_bytes, 1U);
  EXPECT_EQ(outcomes[2].output_bytes, 8U);
  EXPECT_EQ(outcomes[2].number, 0x5555555555555555U);
  EXPECT_EQ(outcomes[3].status, JobStatus::output_too_small);
  EXPECT_EQ(outcomes[4].output_bytes, 5U);
}

TEST_P(EngineSizes, BytesOfOthersNeverGoOutWithAJobThatWritesNothing) {
  // Copies are told sizes before kernels have found them out, and take what lies there.
  for (const char* const pipeline : {"every_second", "leaves_out", "leaves_out|copy"}) {
    for (const bool pinned : {false, true}) {
      for (const Path path : {Path::copy, Path::gather}) {
        EngineSettings settings;
        settings.lane_count = 1;
        settings.depth = 1;
        settings.path.only = path;
        EngineHarness sut(settings, {}, GetParam());
        ChannelHarness& other = sut.attach({"copy"}, kShape, &keeping_registry());
        ChannelHarness::Shape shape = kShape;
        shape.pinned = pinned;
        ChannelHarness& producer = sut.attach({pipeline}, shape, &keeping_registry());
        NumberJobs secrets(other);
        NumberJobs jobs(producer);
        secrets.submit_all({0x5ec2e7, 0x5ec2e7});
        sut.run();
        jobs.submit_all({1});
        sut.run();
        EXPECT_EQ(jobs.numbers(), (Numbers{kNone}));
        std::uint64_t left_behind = 0;
        std::memcpy(&left_behind, producer.view().output(0).data(), sizeof left_behind);
        EXPECT_EQ(left_behind, 0U) << pipeline << (pinned ? ", pinned, " : ", ")
                                   << (path == Path::copy ? "copy" : "gather");
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Devices, EngineSizes,
                         ::testing::Values(VirtualResources{},
                                           VirtualResources{.works_in_place = true},
                                           VirtualResources{.kernels_reach_pinned = true}));

}  // namespace
}  // namespace overlap
