#include "tests/unit/engine_harness.hpp"
#include "tests/unit/keeping_kernels.hpp"
#include "tests/unit/number_jobs.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::keeping_registry;
using testing::kTableBytes;
using testing::NumberJobs;

using Numbers = std::vector<std::uint64_t>;

/// Two places for one table; the first is the one of the attach.
ChannelHarness::Shape shape_with_table() {
  ChannelHarness::Shape shape = {.slot_count = 16, .input_bytes = 256};
  shape.table_bytes = 2 * kTableBytes;
  shape.tables = {{.offset_bytes = 0,
                   .bytes = kTableBytes,
                   .pipeline_index = 0,
                   .stage_index = 0,
                   .reserved_0 = 0,
                   .reserved_1 = 0}};
  return shape;
}

void write_table(const ChannelHarness& producer, std::uint64_t offset_bytes, std::uint64_t number) {
  std::memcpy(producer.view().tables().data() + offset_bytes, &number, sizeof number);
}

SubmissionEntry update_entry(std::uint64_t job_id, std::uint64_t offset_bytes,
                             std::uint64_t bytes = kTableBytes, std::uint32_t stage = 0) {
  SubmissionEntry entry{};
  entry.job_id = job_id;
  entry.slot = kNoSlot;
  entry.opcode = static_cast<std::uint8_t>(Opcode::table_update);
  entry.input_bytes = bytes;
  const TableUpdate update{offset_bytes, stage, 0, 0};
  std::memcpy(entry.params, &update, sizeof update);
  return entry;
}

/// An engine to which a channel with the table 100 has just come.
struct Attached {
  explicit Attached(const VirtualCosts& costs = {}, const VirtualResources& resources = {},
                    const EngineSettings& settings = {})
      : sut(settings, costs, resources),
        memory(1, {"plus_table"}, shape_with_table(), &keeping_registry()),
        producer(memory),
        jobs(producer) {
    write_table(producer, 0, 100);
    sut.engine.add(producer.make_channel(), 0);
  }

  EngineHarness sut;
  ChannelHarness memory;
  ChannelHarness& producer;
  NumberJobs jobs;
};

TEST(EngineTable, IsThereForTheFirstJob) {
  Attached t;
  t.jobs.submit_all({1, 2});
  t.sut.run();
  EXPECT_EQ(t.jobs.numbers(), (Numbers{101, 102}));
}

TEST(EngineTable, IsWaitedForByTheDeviceAndNotByTheHost) {
  // Its upload takes as long as a job's copy: the first kernel can only start behind it.
  Attached t({.copy_in = 10ms, .copy_out = 10ms, .kernel = 30ms}, {.copy_engine_count = 2});
  t.jobs.submit_all({1});
  t.sut.step();
  EXPECT_EQ(t.sut.device.now_ns(), 0U) << "issued at once";
  EXPECT_EQ(t.sut.device.calls(VirtualTimeDevice::Call::launch), 1U);
  t.sut.run();
  EXPECT_EQ(t.jobs.numbers(), (Numbers{101}));
  EXPECT_EQ(t.sut.device.last_end_ns(), 60'000'000U);
}

TEST(EngineTable, IsThePrivateCopyOfTheDaemon) {
  Attached t;
  t.sut.run();
  write_table(t.producer, 0, 555);
  t.jobs.submit_all({1});
  t.sut.run();
  EXPECT_EQ(t.jobs.numbers(), (Numbers{101}));
}

TEST(EngineTable, ChangesForTheJobsBehindTheUpdateAndForNoOthers) {
  EngineSettings settings;
  settings.lane_count = 2;
  settings.max_batch_jobs = 1;
  Attached t({.copy_in = 1ms, .copy_out = 1ms, .kernel = 3ms}, {}, settings);
  write_table(t.producer, kTableBytes, 200);
  t.jobs.submit_all({1, 2, 3, 4, 5, 6});
  t.producer.submit(update_entry(900, kTableBytes));
  t.jobs.submit_all({1, 2});
  t.sut.run();
  auto outcomes = t.jobs.outcomes();
  const auto answer = std::ranges::find(outcomes, 900U, &NumberJobs::Outcome::job_id);
  ASSERT_NE(answer, outcomes.end());
  EXPECT_EQ(answer->status, JobStatus::ok);
  outcomes.erase(answer);
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{101, 102, 103, 104, 105, 106, 201, 202}));
}

TEST(EngineTable, OfAJobThatIsRunOnceMoreIsTheOneItCameWith) {
  EngineSettings settings;
  settings.max_batch_jobs = 1;
  Attached t({.kernel = 1ms}, {}, settings);
  t.sut.device.fail(VirtualTimeDevice::Call::launch, 1, {DeviceOutcome::failed, 7});
  write_table(t.producer, kTableBytes, 200);
  t.jobs.submit_all({1});
  t.producer.submit(update_entry(900, kTableBytes));
  t.jobs.submit_all({2});
  t.sut.run();
  auto outcomes = t.jobs.outcomes();
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  outcomes.pop_back();
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{101, 202}));
  EXPECT_EQ(t.sut.engine.counters().jobs_retried, 1U);
}

TEST(EngineTable, UpdateIsAnsweredOnlyWhenItsMemoryIsNotReadAnyMore) {
  Attached t({.copy_in = 10ms});
  t.sut.run();
  static_cast<void>(t.jobs.outcomes());
  t.producer.submit(update_entry(900, kTableBytes));
  t.sut.step();
  EXPECT_TRUE(t.jobs.outcomes().empty());
  EXPECT_TRUE(t.sut.engine.has_work_in_flight());
  t.sut.run();
  EXPECT_EQ(t.jobs.outcomes().size(), 1U);
  EXPECT_FALSE(t.sut.engine.has_work_in_flight());
}

TEST(EngineTable, RefusesUpdatesThatFitNoStage) {
  Attached t;
  const SubmissionEntry misfits[] = {update_entry(1, 0, kTableBytes - 1),
                                     update_entry(2, 0, 2 * kTableBytes),
                                     update_entry(3, 0, 0),
                                     update_entry(4, kTableBytes + 256),
                                     update_entry(5, UINT64_MAX - 255),
                                     update_entry(6, 128),
                                     update_entry(7, 0, kTableBytes, 1),
                                     update_entry(8, 0, kTableBytes, UINT32_MAX),
                                     [] {
                                       SubmissionEntry entry = update_entry(9, 0);
                                       entry.pipeline_index = 1;
                                       return entry;
                                     }(),
                                     [] {
                                       SubmissionEntry entry = update_entry(10, 0);
                                       entry.flags = kSubmissionIsolate;
                                       return entry;
                                     }()};
  for (const SubmissionEntry& entry : misfits) {
    t.producer.submit(entry);
  }
  t.jobs.submit_all({1});
  t.sut.run();
  const auto outcomes = t.jobs.outcomes();
  ASSERT_EQ(outcomes.size(), 11U);
  for (std::size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(outcomes[i].job_id, i + 1);
    EXPECT_EQ(outcomes[i].status, JobStatus::request_refused) << i + 1;
  }
  EXPECT_EQ(outcomes.back().number, 101U) << "the old table stays";
}

TEST(EngineTable, ManyUpdatesNeverOverrunTheCompletionRing) {
  Attached t;
  // The ring has 32 places; none is collected meanwhile.
  std::uint32_t submitted = 0;
  for (int round = 0; round < 4; ++round) {
    for (; t.producer.submissions().write(update_entry(1000 + submitted, 0)); ++submitted) {
    }
    static_cast<void>(t.producer.submissions().publish());
    t.sut.run();
  }
  EXPECT_EQ(submitted, 64U) << "a ring of answers, and a ring that waits";
  EXPECT_TRUE(t.sut.listener.violations.empty());
  EXPECT_EQ(t.jobs.outcomes().size(), 32U);
  t.sut.run();
  EXPECT_EQ(t.jobs.outcomes().size(), 32U);
}

TEST(EngineTable, IsSaidToBeCopiedOnceItsPlaceCanBeWrittenAgain) {
  Attached t({.copy_in = 10ms});
  t.sut.step();
  EXPECT_TRUE(t.sut.listener.with_tables.empty()) << "the device still reads it";
  t.jobs.submit_all({1});
  t.sut.run();
  EXPECT_EQ(t.sut.listener.with_tables, (std::vector<ChannelId>{t.producer.id()}));
  EXPECT_EQ(t.jobs.numbers(), (Numbers{101}));
  write_table(t.producer, kTableBytes, 200);
  t.producer.submit(update_entry(1, kTableBytes));
  t.sut.run();
  EXPECT_EQ(t.sut.listener.with_tables.size(), 1U) << "an update has an answer of its own";
}

TEST(EngineTable, OfAnUpdateIsAnsweredWhateverItsNumber) {
  Attached t;
  t.producer.submit(update_entry(0, 0));
  t.sut.run();
  const auto outcomes = t.jobs.outcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].status, JobStatus::ok);
  t.sut.engine.drain();
  t.sut.run();
  EXPECT_EQ(t.sut.listener.drained, 1);
}

TEST(EngineTable, OfAnUpdateStaysUnansweredOnALostDevice) {
  // The producer brings it to the next daemon; an answer would make it forget the update.
  for (const auto call : {VirtualTimeDevice::Call::copy_in, VirtualTimeDevice::Call::record,
                          VirtualTimeDevice::Call::complete}) {
    Attached t({.copy_in = 1ms});
    t.sut.run();
    t.sut.device.fail(call, t.sut.device.calls(call) + 1, {DeviceOutcome::lost, 9});
    t.producer.submit(update_entry(1, kTableBytes));
    t.producer.submit(update_entry(2, kTableBytes));
    t.sut.run();
    EXPECT_EQ(t.sut.listener.lost_codes, (std::vector<int>{9}));
    EXPECT_TRUE(t.jobs.outcomes().empty());
  }
}

TEST(EngineTable, LosesTheDeviceWhereACopyFailsUnderWay) {
  Attached t({.copy_in = 1ms});
  t.sut.run();
  const auto call = VirtualTimeDevice::Call::complete;
  t.sut.device.fail(call, t.sut.device.calls(call) + 1, {DeviceOutcome::failed, 5});
  t.producer.submit(update_entry(1, kTableBytes));
  t.sut.run();
  EXPECT_EQ(t.sut.listener.lost_codes, (std::vector<int>{5})) << "nobody knows what kernels read";
  EXPECT_TRUE(t.jobs.outcomes().empty());
}

/// An engine whose device holds on to 100 jobs, each behind an update of its own: 200 and 100 in turns.
struct ManyUpdates {
  ManyUpdates()
      : memory(
            1, {"plus_table"},
            [] {
              ChannelHarness::Shape shape = shape_with_table();
              shape.slot_count = 256;
              return shape;
            }(),
            &keeping_registry()),
        jobs(memory) {
    write_table(memory, 0, 100);
    write_table(memory, kTableBytes, 200);
    sut.engine.add(memory.make_channel(), 0);
    sut.run();
    sut.device.hold_kernels(true);
    const std::uint64_t before = sut.device.calls(VirtualTimeDevice::Call::allocate);
    for (std::uint64_t i = 0; i < 100; ++i) {
      memory.submit(update_entry(1000 + i, i % 2 == 0 ? kTableBytes : 0));
      jobs.submit_all({i});
    }
    sut.run();
    EXPECT_LT(sut.device.calls(VirtualTimeDevice::Call::allocate), before + 80)
        << "every one of the 100 would lie there with its job";
  }

  EngineHarness sut;
  ChannelHarness memory;
  NumberJobs jobs;
};

TEST(EngineTable, ThatFindsNoRoomHoldsUpNoDrain) {
  ManyUpdates t;
  t.sut.engine.drain();
  t.sut.device.hold_kernels(false);
  t.sut.run();
  EXPECT_EQ(t.sut.listener.drained, 1);
}

TEST(EngineTable, OfManyUpdatesWaitsForTheJobsThatKeepEarlierOnes) {
  ManyUpdates t;
  EXPECT_TRUE(t.sut.engine.fall_asleep()) << "looking again is of no use before a job has ended";
  t.sut.engine.stay_awake();
  t.sut.device.hold_kernels(false);
  t.sut.run();
  std::size_t answers = 0;
  for (const auto& outcome : t.jobs.outcomes()) {
    EXPECT_EQ(outcome.status, JobStatus::ok);
    if (outcome.job_id >= 1000) {
      ++answers;
    } else {
      const std::uint64_t i = outcome.job_id - 1;
      EXPECT_EQ(outcome.number, i + (i % 2 == 0 ? 200 : 100));
    }
  }
  EXPECT_EQ(answers, 100U);
}

TEST(EngineTable, AnswersThatNobodyCollectsLetTheEngineSleep) {
  EngineHarness sut;
  ChannelHarness::Shape shape = shape_with_table();
  shape.slot_count = 1;
  ChannelHarness memory(1, {"plus_table"}, shape, &keeping_registry());
  sut.engine.add(memory.make_channel(), 0);
  NumberJobs jobs(memory);
  memory.submit(update_entry(10, kTableBytes));
  memory.submit(update_entry(11, kTableBytes));
  sut.run();
  jobs.submit_all({1});
  sut.run();
  EXPECT_TRUE(sut.engine.has_full_channels());
  EXPECT_TRUE(sut.engine.fall_asleep());
  sut.engine.stay_awake();
  sut.engine.park(UINT64_MAX);
  EXPECT_TRUE(sut.listener.parked.empty()) << "its producer would ring for nothing that it did";
  EXPECT_EQ(jobs.outcomes().size(), 2U);
  EXPECT_NE(sut.step(), 0U);
  sut.run();
  EXPECT_FALSE(sut.engine.has_full_channels());
  EXPECT_EQ(jobs.outcomes().size(), 1U);
}

TEST(EngineTable, AChannelGoesOnlyWhenItsTableIsNotReadAnyMore) {
  Attached t({.copy_in = 10ms});
  t.sut.engine.remove(t.producer.id());
  t.sut.step();
  EXPECT_TRUE(t.sut.listener.removed.empty());
  t.sut.run();
  EXPECT_EQ(t.sut.listener.removed.size(), 1U);
}

TEST(EngineTable, JobsEndAsFailedWhereTheDeviceHasNoMemoryForIt) {
  EngineHarness sut;
  ChannelHarness producer(1, {"plus_table"}, shape_with_table(), &keeping_registry());
  sut.device.fail(VirtualTimeDevice::Call::allocate,
                  sut.device.calls(VirtualTimeDevice::Call::allocate) + 1,
                  {DeviceOutcome::failed, 2});
  sut.engine.add(producer.make_channel(), 0);
  NumberJobs jobs(producer);
  jobs.submit_all({1});
  sut.run();
  const auto outcomes = jobs.outcomes();
  ASSERT_EQ(outcomes.size(), 1U);
  EXPECT_EQ(outcomes[0].status, JobStatus::kernel_failed);
}

SubmissionEntry with_a(std::int64_t a, std::uint16_t flags = submission_parameter_flag(0)) {
  SubmissionEntry entry{};
  entry.flags = flags;
  std::memcpy(entry.params, &a, sizeof a);
  return entry;
}

TEST(EngineJobParameters, OverrideTheChannelsForThatJobAlone) {
  EngineHarness sut;
  ChannelHarness& producer =
      sut.attach({"plus:a=1,b=50"}, {.slot_count = 16, .input_bytes = 256}, &keeping_registry());
  NumberJobs jobs(producer);
  jobs.submit(10);
  jobs.submit(10, with_a(5));
  jobs.submit(10, with_a(5));
  jobs.submit(10, with_a(-7));
  jobs.submit(10);
  sut.run();
  auto outcomes = jobs.outcomes();
  std::ranges::sort(outcomes, {}, &NumberJobs::Outcome::job_id);
  EXPECT_EQ(NumberJobs::numbers(outcomes), (Numbers{61, 65, 65, 53, 61}));
  EXPECT_EQ(sut.engine.counters().batches, 4U) << "jobs share a batch where theirs are the same";
}

TEST(EngineJobParameters, AreRefusedOutOfTheirRangeAndWhereThereAreNone) {
  EngineHarness sut;
  ChannelHarness& producer =
      sut.attach({"plus", "copy"}, {.slot_count = 16, .input_bytes = 256}, &keeping_registry());
  NumberJobs jobs(producer);
  jobs.submit(10, with_a(101));
  jobs.submit(10, with_a(-101));
  jobs.submit(10, with_a(1, submission_parameter_flag(1)));
  jobs.submit(10, with_a(1, submission_parameter_flag(0) | submission_parameter_flag(2)));
  SubmissionEntry elsewhere = with_a(1);
  elsewhere.pipeline_index = 1;
  jobs.submit(10, elsewhere);
  sut.run();
  const auto outcomes = jobs.outcomes();
  ASSERT_EQ(outcomes.size(), 5U);
  for (const auto& outcome : outcomes) {
    EXPECT_EQ(outcome.status, JobStatus::request_refused) << outcome.job_id;
  }
}

TEST(EngineJobParameters, TakeNoNumberThatIsNone) {
  const Parameter real{"a", ParameterType::real, {.f64 = 1}, -1e300, 1e300, "", "", {}, true};
  struct OneReal final : Kernel {
    explicit OneReal(const Parameter& parameter) : parameter_(parameter) {}
    std::string_view name() const noexcept override { return "one_real"; }
    std::string_view summary() const noexcept override { return ""; }
    std::span<const Parameter> parameters() const noexcept override { return {&parameter_, 1}; }
    std::uint64_t granule_bytes(ParameterView) const noexcept override { return 1; }
    PlanOrRefusal plan(ParameterView, std::uint64_t) const override { return Plan{}; }
    void run(const overlap_batch&) const override {}
    bool has_cuda() const noexcept override { return false; }
    int launch(const overlap_batch&, OpaqueStream) const override { return 0; }
    std::uint64_t reference(const ReferenceJob&) const override { return 0; }
    Parameter parameter_;
  };
  const OneReal kernel(real);
  const auto per_job = per_job_parameters(kernel);
  ASSERT_EQ(per_job.size(), 1U);
  for (const double bad : {std::numeric_limits<double>::quiet_NaN(),
                           std::numeric_limits<double>::infinity(), 1.5e300}) {
    SubmissionEntry entry{};
    entry.flags = submission_parameter_flag(0);
    std::memcpy(entry.params, &bad, sizeof bad);
    EXPECT_FALSE(read_job_parameters(entry, kernel, per_job)) << bad;
  }
}

}  // namespace
}  // namespace overlap
