// Jobs that are held back for others to join their batch.

#include "daemon/engine/engine.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace overlap {
namespace {

using Call = VirtualTimeDevice::Call;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::expect_copies;
using testing::marked_count;
using testing::submit_many;

constexpr std::uint64_t kWait = 10'000;
constexpr EngineSettings kHolding = {.lane_count = 2,
                                     .depth = 2,
                                     .max_batch_jobs = 4,
                                     .max_batch_bytes = 4000,
                                     .max_batch_wait_ns = kWait};

class EngineBatchWait : public ::testing::Test {
 protected:
  /// Works at a time until nothing is left to do.
  void work_at(std::uint64_t now_ns) {
    while (harness.engine.do_work(now_ns) != 0) {
    }
  }
  [[nodiscard]] std::uint64_t batches() const { return sut.counters().batches; }

  EngineHarness harness{kHolding};
  Engine& sut = harness.engine;
};

TEST_F(EngineBatchWait, HoldsNothingWhereThereIsNothing) {
  harness.attach({"copy"});
  work_at(100);
  EXPECT_EQ(sut.held_until_ns(), UINT64_MAX);
}

TEST_F(EngineBatchWait, HoldsAJobUntilTheTimeIsOver) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 1);
  work_at(100);
  EXPECT_EQ(batches(), 0U);
  EXPECT_EQ(sut.held_until_ns(), 100 + kWait);
  EXPECT_EQ(sut.do_work(99 + kWait), 0U) << "calling again at once is of no use";
  EXPECT_EQ(batches(), 0U);
  work_at(100 + kWait);
  EXPECT_EQ(batches(), 1U);
  EXPECT_EQ(sut.held_until_ns(), UINT64_MAX);
  expect_copies(producer, 1);
}

TEST_F(EngineBatchWait, CountsFromTheOldestJob) {
  ChannelHarness& first = harness.attach({"copy"});
  ChannelHarness& second = harness.attach({"copy"});
  submit_many(second, 1);
  work_at(100);
  submit_many(first, 1);
  work_at(5000);
  submit_many(second, 1, 256, 1);
  work_at(9000);
  EXPECT_EQ(sut.held_until_ns(), 100 + kWait);
  work_at(100 + kWait);
  expect_copies(first, 1);
  expect_copies(second, 2);
  EXPECT_EQ(batches(), 1U);
}

TEST_F(EngineBatchWait, IssuesAtOnceWhatIsFullByJobs) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 3);
  work_at(100);
  EXPECT_EQ(batches(), 0U);
  submit_many(producer, 1, 256, 3);
  work_at(101);
  EXPECT_EQ(batches(), 1U);
  expect_copies(producer, 4);
}

TEST_F(EngineBatchWait, IssuesAtOnceWhatIsFullByBytes) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 2, 1500);
  work_at(100);
  EXPECT_EQ(batches(), 0U);
  submit_many(producer, 1, 1000, 2);
  work_at(101);
  EXPECT_EQ(batches(), 1U);
  expect_copies(producer, 3);
}

TEST_F(EngineBatchWait, CountsTheJobsOfAllProducers) {
  ChannelHarness& first = harness.attach({"copy"});
  ChannelHarness& second = harness.attach({"copy"});
  submit_many(first, 2);
  submit_many(second, 1);
  work_at(100);
  EXPECT_EQ(batches(), 0U);
  submit_many(second, 1, 256, 1);
  work_at(101);
  EXPECT_EQ(batches(), 1U);
  expect_copies(first, 2);
  expect_copies(second, 2);
}

TEST_F(EngineBatchWait, HoldsTheRestOfAFullBatch) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 5);
  work_at(100);
  EXPECT_EQ(batches(), 1U);
  EXPECT_EQ(sut.held_until_ns(), 100 + kWait);
  expect_copies(producer, 4);
  work_at(100 + kWait);
  expect_copies(producer, 1);
  EXPECT_EQ(batches(), 2U);
}

TEST_F(EngineBatchWait, HoldsNoIsolatedJob) {
  for (const std::uint64_t now_ns : {std::uint64_t{0}, 50 * kWait}) {
    ChannelHarness& producer = harness.attach({"copy"});
    const std::uint64_t before = batches();
    producer.submit(1, 0, 256, kSubmissionIsolate);
    work_at(now_ns);
    EXPECT_EQ(batches(), before + 1) << "at " << now_ns;
    EXPECT_EQ(sut.held_until_ns(), UINT64_MAX);
    EXPECT_EQ(producer.collect().size(), 1U);
  }
}

TEST_F(EngineBatchWait, HoldsNoJobThatIsIssuedOnceMore) {
  ChannelHarness& producer = harness.attach({"copy"});
  harness.device.fail(Call::launch, 1, {DeviceOutcome::failed, 719});
  submit_many(producer, 4);
  work_at(0);
  EXPECT_EQ(batches(), 1U + 4U);
  expect_copies(producer, 4);
}

TEST_F(EngineBatchWait, HoldsNoEmptyJob) {
  ChannelHarness& producer = harness.attach({"copy"});
  producer.submit(1, 0, 0);
  work_at(100);
  EXPECT_EQ(producer.collect().size(), 1U);
  EXPECT_EQ(sut.held_until_ns(), UINT64_MAX);
}

TEST_F(EngineBatchWait, LetsAHeldJobExpireOrBeCancelled) {
  ChannelHarness& producer = harness.attach({"copy"});
  SubmissionEntry entry{};
  entry.job_id = 1;
  entry.input_bytes = 256;
  entry.deadline_ns = 500;
  producer.submit(entry);
  work_at(100);
  EXPECT_EQ(sut.held_until_ns(), 100 + kWait);
  submit_many(producer, 1, 256, 1);
  producer.cancel(2, 1);
  work_at(500);
  EXPECT_EQ(sut.held_until_ns(), UINT64_MAX);
  EXPECT_EQ(batches(), 0U);
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 2U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::deadline_passed);
  EXPECT_EQ(static_cast<JobStatus>(completed[1].status), JobStatus::cancelled);
}

TEST_F(EngineBatchWait, DoesNotParkWhoHasAHeldJob) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 1);
  work_at(100);
  sut.park(UINT64_MAX);
  EXPECT_TRUE(harness.listener.parked.empty());
  work_at(100 + kWait);
  expect_copies(producer, 1);
}

TEST_F(EngineBatchWait, DropsTheHeldJobsOfOneWhoLeaves) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 1);
  work_at(100);
  sut.remove(producer.id());
  work_at(101);
  EXPECT_EQ(harness.listener.removed.size(), 1U);
  EXPECT_EQ(sut.held_until_ns(), UINT64_MAX);
  EXPECT_EQ(batches(), 0U);
}

TEST_F(EngineBatchWait, EndsADrainOnlyWhenHeldJobsHaveEnded) {
  ChannelHarness& producer = harness.attach({"copy"});
  submit_many(producer, 1);
  work_at(100);
  sut.drain();
  work_at(101);
  EXPECT_EQ(harness.listener.drained, 0);
  work_at(100 + kWait);
  EXPECT_EQ(harness.listener.drained, 1);
  expect_copies(producer, 1);
}

TEST_F(EngineBatchWait, HoldsEachPriorityForItself) {
  ChannelHarness& normal = harness.attach({"copy"});
  ChannelHarness& high = harness.attach({"copy"}, {.priority = ChannelPriority::high});
  submit_many(high, 1);
  work_at(100);
  submit_many(normal, 4);
  work_at(200);
  EXPECT_EQ(batches(), 1U);
  expect_copies(normal, 4);
  EXPECT_EQ(marked_count(high), 0U);
  EXPECT_EQ(sut.held_until_ns(), 100 + kWait);
  work_at(100 + kWait);
  expect_copies(high, 1);
}

TEST(EngineWithoutBatchWait, NeverHoldsAJob) {
  EngineHarness sut({.lane_count = 2, .depth = 2, .max_batch_jobs = 4});
  ChannelHarness& producer = sut.attach({"copy"});
  for (std::uint32_t slot = 0; slot < 4; ++slot) {
    submit_many(producer, 1, 256, slot);
    sut.engine.do_work(0);
    EXPECT_EQ(sut.engine.held_until_ns(), UINT64_MAX);
    EXPECT_EQ(sut.engine.counters().batches, slot + 1U);
  }
  sut.run();
  expect_copies(producer, 4);
}

}  // namespace
}  // namespace overlap
