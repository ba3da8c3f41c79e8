// Batches of jobs of several producers.

#include "daemon/engine/engine.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"
#include "tests/unit/forwarding_device.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <memory>
#include <string>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::expect_copies;
using testing::ForwardingDevice;
using testing::marked_count;
using testing::RecordingListener;
using testing::submit_many;

constexpr DeviceStatus kFault = {DeviceOutcome::failed, 719};
constexpr VirtualCosts kSlow = {.copy_in = 1ms, .copy_out = 1ms, .kernel = 3ms};
constexpr EngineSettings kOneLane = {.lane_count = 1, .depth = 1};

/// Batches that the jobs of two producers become, four from each.
std::uint64_t batches_of(const std::string& a, const std::string& b) {
  EngineHarness sut(kOneLane);
  ChannelHarness& first = sut.attach({a});
  ChannelHarness& second = sut.attach({b});
  submit_many(first, 4);
  submit_many(second, 4);
  sut.run();
  EXPECT_EQ(first.collect().size(), 4U);
  EXPECT_EQ(second.collect().size(), 4U);
  return sut.engine.counters().batches;
}

TEST(EngineSharedBatch, HoldsJobsOfEveryProducerWithThatPipeline) {
  EngineHarness sut(kOneLane);
  std::vector<ChannelHarness*> producers;
  for (int i = 0; i < 10; ++i) {
    producers.push_back(&sut.attach({"copy|copy"}));
    submit_many(*producers.back(), 3);
  }
  sut.run();
  for (ChannelHarness* producer : producers) {
    expect_copies(*producer, 3);
  }
  EXPECT_EQ(sut.engine.counters().batches, 1U);
  EXPECT_EQ(sut.device.calls(Call::launch), 2U);
}

TEST(EngineSharedBatch, HoldsTheSameKernelsWithTheSameParametersAlone) {
  EXPECT_EQ(batches_of("copy", "copy"), 1U);
  EXPECT_EQ(batches_of("scale:a=2,b=1", "scale:b=1,a=2"), 1U);
  EXPECT_EQ(batches_of("scale:a=2,b=1", "scale:a=2,b=2"), 2U);
  EXPECT_EQ(batches_of("scale:b=0", "scale:b=-0"), 2U);
  EXPECT_EQ(batches_of("copy", "copy|copy"), 2U);
  EXPECT_EQ(batches_of("copy|judge", "judge|copy"), 2U);
}

TEST(EngineSharedBatch, DoesNotMindWhereInItsListAChannelHasThePipeline) {
  EngineHarness sut(kOneLane);
  ChannelHarness& first = sut.attach({"twice", "copy"});
  ChannelHarness& second = sut.attach({"copy"});
  SubmissionEntry entry{};
  entry.job_id = 1;
  entry.pipeline_index = 1;
  entry.input_bytes = 256;
  first.submit(entry);
  submit_many(second, 1);
  sut.run();
  EXPECT_EQ(first.collect().size(), 1U);
  expect_copies(second, 1);
  EXPECT_EQ(sut.engine.counters().batches, 1U);
}

TEST(EngineSharedBatch, IsAlsoJoinedByOneWhoCameBackFromParking) {
  EngineHarness sut(kOneLane);
  ChannelHarness& first = sut.attach({"copy"});
  ChannelHarness& second = sut.attach({"copy"});
  sut.engine.park(UINT64_MAX);
  submit_many(second, 2);
  submit_many(first, 2);
  sut.engine.unpark(second.id(), 0);
  sut.engine.unpark(first.id(), 0);
  sut.run();
  expect_copies(first, 2);
  expect_copies(second, 2);
  EXPECT_EQ(sut.engine.counters().batches, 1U);
}

TEST(EngineSharedBatch, HoldsNoMoreJobsThanItsLimitOverAllProducers) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_jobs = 4}, kSlow);
  ChannelHarness& first = sut.attach({"copy"});
  ChannelHarness& second = sut.attach({"copy"});
  submit_many(first, 6);
  submit_many(second, 6);
  do {
    EXPECT_LE(marked_count(first) + marked_count(second), 4U);
  } while (sut.step() != 0 || sut.device.advance_to_next());
  expect_copies(first, 6);
  expect_copies(second, 6);
  EXPECT_EQ(sut.engine.counters().batches, 3U);
}

TEST(EngineSharedBatch, HoldsNoMoreBytesThanItsLimitOverAllProducers) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_bytes = 3000}, kSlow);
  ChannelHarness& first = sut.attach({"copy"});
  ChannelHarness& second = sut.attach({"copy"});
  submit_many(first, 4, 750);
  submit_many(second, 4, 750);
  do {
    EXPECT_LE((marked_count(first) + marked_count(second)) * 750, 3000U);
  } while (sut.step() != 0 || sut.device.advance_to_next());
  expect_copies(first, 4);
  expect_copies(second, 4);
  EXPECT_EQ(sut.engine.counters().batches, 2U);
}

TEST(EngineSharedBatch, KeepsSmallAndLargeJobsApart) {
  EngineSettings settings = kOneLane;
  settings.path.copy_from_job_bytes = 1000;
  EngineHarness sut(settings);
  ChannelHarness& small = sut.attach({"copy"});
  ChannelHarness& large = sut.attach({"copy"});
  submit_many(small, 4, 999);
  submit_many(large, 4, 1000);
  sut.run();
  expect_copies(small, 4);
  expect_copies(large, 4);
  EXPECT_EQ(sut.engine.counters().batches, 2U);
  // Also those of one channel, whose order stays.
  submit_many(small, 1, 256);
  submit_many(small, 2, 4096, 1);
  submit_many(small, 1, 256, 3);
  sut.run();
  expect_copies(small, 4);
  EXPECT_EQ(sut.engine.counters().batches, 2U + 3U);
}

TEST(EngineSharedBatch, TakesNoIsolatedJobIn) {
  EngineHarness sut({.lane_count = 2, .depth = 2}, kSlow);
  ChannelHarness& first = sut.attach({"copy"});
  ChannelHarness& second = sut.attach({"copy"});
  submit_many(first, 3);
  second.submit(1, 0, 256, kSubmissionIsolate);
  while (sut.step() != 0 || sut.device.advance_to_next()) {
    EXPECT_TRUE(!second.is_marked_issued(0) || marked_count(first) == 0);
  }
  expect_copies(first, 3);
  EXPECT_EQ(second.collect().size(), 1U);
  EXPECT_EQ(sut.engine.counters().batches, 2U);
}

TEST(EngineSharedBatch, ThatFailsIsIssuedOnceMoreJobByJob) {
  for (const Call call : {Call::copy_in, Call::launch, Call::copy_out, Call::complete}) {
    SCOPED_TRACE(static_cast<int>(call));
    EngineHarness sut(kOneLane, kSlow);
    ChannelHarness& first = sut.attach({"copy"});
    ChannelHarness& second = sut.attach({"copy"});
    sut.device.fail(call, 1, kFault);
    submit_many(first, 3);
    submit_many(second, 4);
    sut.run();
    expect_copies(first, 3);
    expect_copies(second, 4);
    EXPECT_EQ(sut.engine.counters().jobs_retried, 7U);
    EXPECT_EQ(sut.engine.counters().batches, 1U + 7U);
  }
}

/// Refuses to launch any batch with a job of one certain size in it.
class PoisonedDevice final : public ForwardingDevice {
 public:
  static constexpr std::uint64_t kPoisonBytes = 666;

  using ForwardingDevice::ForwardingDevice;
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override {
    bool poisoned = false;
    for (std::uint32_t i = 0; i < batch.item_count; ++i) {
      const auto* const start = reinterpret_cast<const std::byte*>(batch.items);
      const auto* const item =
          reinterpret_cast<const overlap_batch_item*>(start + i * batch.item_stride_bytes);
      poisoned = poisoned || item->input_bytes == kPoisonBytes;
    }
    most_items = std::max(most_items, batch.item_count);
    return poisoned ? kFault : ForwardingDevice::launch(stream, kernel, batch);
  }
  std::uint32_t most_items = 0;
};

TEST(EngineSharedBatch, IsSpoiledForNobodyByAJobThatAlwaysFails) {
  VirtualTimeDevice device(kSlow, {.kernels_reach_pinned = true});
  PoisonedDevice poisoned(device);
  RecordingListener listener;
  ChannelHarness odd(1, {"copy"}, {});
  ChannelHarness healthy(2, {"copy"}, {});
  Engine sut(poisoned, kOneLane, listener);
  sut.add(odd.make_channel(), 0);
  sut.add(healthy.make_channel(), 0);
  submit_many(odd, 4);
  odd.submit_filled(5, 4, PoisonedDevice::kPoisonBytes);
  submit_many(healthy, 16);
  while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
  }
  EXPECT_EQ(poisoned.most_items, 21U) << "they shared a batch";
  expect_copies(healthy, 16);
  const auto completed = odd.collect();
  EXPECT_EQ(completed.size(), 5U);
  for (const CompletionEntry& entry : completed) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status),
              entry.job_id == 5 ? JobStatus::kernel_failed : JobStatus::ok);
  }
}

TEST(EngineSharedBatch, TellsEveryProducerWhatTheKernelSaidOfItsOwnJobs) {
  EngineHarness sut(kOneLane);
  ChannelHarness& judged = sut.attach({"judge"});
  ChannelHarness& healthy = sut.attach({"judge"});
  judged.view().input(0)[0] = testing::kFailing;
  judged.submit(1, 0, 256);
  judged.view().input(1)[0] = testing::kTooSmall;
  judged.submit(2, 1, 256);
  submit_many(healthy, 1);
  sut.run();
  EXPECT_EQ(sut.engine.counters().batches, 1U);
  const auto completed = judged.collect();
  ASSERT_EQ(completed.size(), 2U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::kernel_failed);
  EXPECT_EQ(static_cast<JobStatus>(completed[1].status), JobStatus::output_too_small);
  expect_copies(healthy, 1);
}

TEST(EngineSharedBatch, KeepsTheMemoryOfOneWhoLeavesUntilItIsOver) {
  for (const bool fails : {false, true}) {
    SCOPED_TRACE(fails ? "fails" : "ends well");
    VirtualTimeDevice device(kSlow, {.kernels_reach_pinned = true});
    RecordingListener listener;
    ChannelHarness stays(1, {"copy"}, {});
    Engine sut(device, kOneLane, listener);
    sut.add(stays.make_channel(), 0);
    {
      ChannelHarness leaves(2, {"copy"}, {});
      sut.add(leaves.make_channel(), 0);
      submit_many(leaves, 4);
      submit_many(stays, 4);
      if (fails) {
        device.fail(Call::complete, 1, kFault);
      }
      sut.do_work(device.now_ns());
      ASSERT_EQ(sut.counters().batches, 1U);
      ASSERT_EQ(marked_count(leaves), 4U);
      sut.remove(leaves.id());
      while (listener.removed.empty()) {
        EXPECT_EQ(marked_count(leaves), 4U);
        ASSERT_TRUE(sut.do_work(device.now_ns()) != 0 || device.advance_to_next());
      }
      EXPECT_EQ(marked_count(leaves), 0U);
    }
    // The memory has gone: whoever still touched it would crash.
    while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
    }
    expect_copies(stays, 4);
    EXPECT_EQ(sut.counters().jobs_retried, fails ? 8U : 0U);
    EXPECT_EQ(sut.counters().batches, fails ? 1U + 4U : 1U);
  }
}

TEST(EngineSharedBatch, StillFitsOneWhoComesWhenTheFirstWithThatPipelineHasGone) {
  EngineHarness sut(kOneLane, kSlow);
  ChannelHarness& first = sut.attach({"copy"});
  ChannelHarness& second = sut.attach({"copy"});
  submit_many(first, 2);
  submit_many(second, 2);
  sut.run();
  sut.engine.remove(first.id());
  sut.step();
  ASSERT_EQ(sut.listener.removed.size(), 1U);
  expect_copies(second, 2);
  ChannelHarness& third = sut.attach({"copy"});
  submit_many(second, 2);
  submit_many(third, 2);
  sut.run();
  expect_copies(second, 2);
  expect_copies(third, 2);
  EXPECT_EQ(sut.engine.counters().batches, 2U);
}

}  // namespace
}  // namespace overlap
