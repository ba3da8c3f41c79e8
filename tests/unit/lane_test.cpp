#include "daemon/engine/lane.hpp"

#include "daemon/device/virtual_time_device.hpp"
#include "kernels/batch_items.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/copy_recorder.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstring>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::ChannelHarness;
using testing::CopyRecorder;
using testing::ScriptedKernel;

/// A producer and the daemon's end of its channel, without an engine.
class Feed {
 public:
  explicit Feed(const std::string& pipeline, const ChannelHarness::Shape& shape = {},
                const KernelRegistry* registry = nullptr)
      : producer(1, {pipeline}, shape, registry), channel(producer.make_channel()) {}

  /// Submits filled slots `first`... and takes them as one batch.
  Batch batch(std::uint32_t job_count, std::uint64_t input_bytes, std::uint32_t first = 0) {
    for (std::uint32_t i = 0; i < job_count; ++i) {
      producer.submit_filled(first + i + 1, first + i, input_bytes);
    }
    channel->take(job_count, 0);
    Batch batch;
    batch.pipeline = &channel->pipeline(0);
    while (channel->next(0) != nullptr) {
      batch.add(*channel, channel->start(0));
    }
    EXPECT_EQ(batch.jobs.size(), job_count);
    return batch;
  }

  /// Whether the outputs are what the pipeline's reference makes of the inputs.
  void expect_results(std::uint32_t job_count, std::uint64_t input_bytes) const {
    for (std::uint32_t slot = 0; slot < job_count; ++slot) {
      const auto expected =
          producer.pipeline().reference(producer.view().input(slot).first(input_bytes));
      const auto output = producer.view().output(slot).first(expected.size());
      EXPECT_TRUE(std::equal(expected.begin(), expected.end(), output.begin())) << "slot " << slot;
      const auto rest = producer.view().output(slot).subspan(expected.size());
      EXPECT_TRUE(std::all_of(rest.begin(), rest.end(),
                              [](std::byte byte) { return byte == std::byte{0}; }))
          << "written beyond the output of slot " << slot;
    }
  }

  ChannelHarness producer;
  std::unique_ptr<Channel> channel;
};

void run(VirtualTimeDevice& device) {
  while (device.advance_to_next()) {
  }
}

constexpr VirtualCosts k10_30_10 = {.copy_in = 10ms, .copy_out = 10ms, .kernel = 30ms};

TEST(Lane, HasNothingToHarvestWhenNothingWasIssued) {
  VirtualTimeDevice device(k10_30_10);
  Lane sut(device, {.max_batch_jobs = 4});
  EXPECT_FALSE(sut.harvest().has_value());
  EXPECT_TRUE(sut.has_free_buffer());
  EXPECT_EQ(sut.in_flight_count(), 0U);
}

TEST(Lane, ABatchIsHarvestedWhenItsLastByteIsBack) {
  VirtualTimeDevice device(k10_30_10);
  Feed feed("copy");
  Lane sut(device, {.max_batch_jobs = 4});
  Batch batch = feed.batch(1, 4096);
  sut.issue(batch);
  EXPECT_TRUE(batch.jobs.empty());
  EXPECT_EQ(batch.pipeline, nullptr);
  while (device.now_ns() < 50'000'000) {
    EXPECT_FALSE(sut.harvest().has_value()) << device.now_ns();
    ASSERT_TRUE(device.advance_to_next());
  }
  const auto ended = sut.harvest();
  ASSERT_TRUE(ended.has_value());
  EXPECT_TRUE(ended->status.ok());
  ASSERT_EQ(ended->batch->jobs.size(), 1U);
  EXPECT_EQ(ended->batch->jobs[0]->job_id, 1U);
  EXPECT_EQ(ended->table->status(1, 0), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
  feed.expect_results(1, 4096);
}

TEST(Lane, AHarvestedBatchStaysUntilItIsRetired) {
  VirtualTimeDevice device({});
  Feed feed("copy");
  Lane sut(device, {.depth = 1, .max_batch_jobs = 4});
  Batch batch = feed.batch(1, 16);
  sut.issue(batch);
  run(device);
  ASSERT_TRUE(sut.harvest().has_value());
  EXPECT_FALSE(sut.has_free_buffer());
  const auto again = sut.harvest();
  ASSERT_TRUE(again.has_value());
  EXPECT_EQ(again->batch->jobs.size(), 1U);
  sut.retire();
  EXPECT_TRUE(sut.has_free_buffer());
  EXPECT_FALSE(sut.harvest().has_value());
}

TEST(Lane, HoldsAsManyBatchesAsItIsDeepAndEndsThemInOrder) {
  for (const LaneKind kind : {LaneKind::single, LaneKind::three}) {
    VirtualTimeDevice device(k10_30_10);
    Feed feed("copy");
    Lane sut(device, {.kind = kind, .depth = 3, .max_batch_jobs = 4});
    for (std::uint32_t i = 0; i < 3; ++i) {
      ASSERT_TRUE(sut.has_free_buffer());
      Batch batch = feed.batch(1, 256, i);
      sut.issue(batch);
      EXPECT_EQ(sut.in_flight_count(), i + 1);
    }
    EXPECT_FALSE(sut.has_free_buffer());
    run(device);
    for (std::uint64_t job_id = 1; job_id <= 3; ++job_id) {
      const auto ended = sut.harvest();
      ASSERT_TRUE(ended.has_value());
      EXPECT_EQ(ended->batch->jobs.at(0)->job_id, job_id);
      sut.retire();
    }
    feed.expect_results(3, 256);
  }
}

TEST(Lane, ItsOldestEventIsOverWithItsOldestBatch) {
  VirtualTimeDevice device(k10_30_10);
  Feed feed("copy");
  Lane sut(device, {.depth = 2, .max_batch_jobs = 4});
  Batch first = feed.batch(1, 256, 0);
  Batch second = feed.batch(1, 256, 1);
  sut.issue(first);
  sut.issue(second);
  while (device.query(sut.oldest_event()).state == EventState::pending) {
    ASSERT_TRUE(device.advance_to_next());
  }
  EXPECT_EQ(device.now_ns(), 50'000'000U);
  sut.retire();
  EXPECT_EQ(device.query(sut.oldest_event()).state, EventState::pending);
}

TEST(Lane, OneLaunchPerStageHoweverManyJobs) {
  VirtualTimeDevice device({});
  Feed feed("scale:a=2|copy|scale:b=1");
  Lane sut(device, {.max_batch_jobs = 16});
  Batch batch = feed.batch(16, 1024);
  sut.issue(batch);
  EXPECT_EQ(device.calls(Call::launch), 3U);
  EXPECT_EQ(device.calls(Call::copy_in), 1U);
  EXPECT_EQ(device.calls(Call::copy_out), 1U);
  run(device);
  feed.expect_results(16, 1024);
}

TEST(Lane, NeighbouringSlotsAreOneCopyEachWay) {
  VirtualTimeDevice device({});
  CopyRecorder recorder(device);
  Feed feed("copy");
  Lane sut(recorder, {.max_batch_jobs = 16});
  Batch batch = feed.batch(8, 4096);
  sut.issue(batch);
  ASSERT_EQ(recorder.ins.size(), 1U);
  EXPECT_EQ(recorder.ins[0].source, feed.producer.view().input(0).data());
  EXPECT_EQ(recorder.ins[0].bytes, 8U * 4096U);
  ASSERT_EQ(recorder.outs.size(), 1U);
  EXPECT_EQ(recorder.outs[0].destination, feed.producer.view().output(0).data());
  EXPECT_EQ(recorder.outs[0].bytes, 8U * 4096U);
}

TEST(Lane, CopiesExactlyTheJobsBytes) {
  VirtualTimeDevice device({});
  CopyRecorder recorder(device);
  Feed feed("vector_add");
  Lane sut(recorder, {.max_batch_jobs = 16});
  Batch batch = feed.batch(2, 1000);
  sut.issue(batch);
  // One copy each way, a row a job.
  ASSERT_EQ(recorder.ins.size(), 1U);
  ASSERT_EQ(recorder.outs.size(), 1U);
  const ChannelView& view = feed.producer.view();
  EXPECT_EQ(recorder.ins[0].source, view.input(0).data());
  EXPECT_EQ(recorder.ins[0].bytes, 1000U);
  EXPECT_EQ(recorder.ins[0].rows, 2U);
  EXPECT_EQ(recorder.ins[0].source_pitch_bytes, view.geometry().input_stride_bytes);
  EXPECT_EQ(recorder.outs[0].destination, view.output(0).data());
  EXPECT_EQ(recorder.outs[0].bytes, 500U);
  EXPECT_EQ(recorder.outs[0].rows, 2U);
  EXPECT_EQ(recorder.outs[0].destination_pitch_bytes, view.geometry().output_stride_bytes);
  run(device);
  feed.expect_results(2, 1000);
}

TEST(Lane, NoCopyCrossesTheBorderOfAPinnedChunk) {
  VirtualTimeDevice device({});
  CopyRecorder recorder(device);
  // Slots of 768 bytes in chunks of one page: a border in the middle of a slot.
  Feed feed("copy", {.input_bytes = 768, .output_bytes = 768, .pin_chunk_bytes = 4096});
  Lane sut(recorder, {.max_batch_jobs = 16});
  Batch batch = feed.batch(16, 768);
  sut.issue(batch);
  EXPECT_EQ(recorder.ins.size(), 3U);
  const std::byte* const first = feed.producer.view().input(0).data();
  for (const CopyRange& range : recorder.ins) {
    const auto begin = static_cast<std::uint64_t>(range.source - first);
    const std::uint64_t extent = (range.rows - 1) * range.source_pitch_bytes + range.bytes;
    EXPECT_EQ(begin / 4096, (begin + extent - 1) / 4096);
  }
  run(device);
  feed.expect_results(16, 768);
}

TEST(Lane, KernelsGetAlignedPointersAndTheLargestSize) {
  VirtualTimeDevice device({});
  KernelRegistry registry;
  std::vector<std::uint64_t> largest;
  registry.add(std::make_unique<ScriptedKernel>(
      ScriptedKernel::Script{.run = [&](const overlap_batch& batch) {
        largest.push_back(batch.max_input_bytes);
        for (std::uint32_t i = 0; i < batch.item_count; ++i) {
          const overlap_batch_item& item = item_at(batch, i);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(item.input) % 256, 0U);
          EXPECT_EQ(reinterpret_cast<std::uintptr_t>(item.output) % 256, 0U);
        }
      }}));
  Feed feed("scripted|scripted", {}, &registry);
  Lane sut(device, {.max_batch_jobs = 16});
  feed.producer.submit(1, 0, 7);
  feed.producer.submit(2, 1, 999);
  Batch batch = feed.batch(0, 0);
  feed.channel->take(2, 0);
  for (int i = 0; i < 2; ++i) {
    ASSERT_NE(feed.channel->next(0), nullptr);
    batch.add(*feed.channel, feed.channel->start(0));
  }
  sut.issue(batch);
  run(device);
  EXPECT_EQ(largest, (std::vector<std::uint64_t>{999, 999}));
}

TEST(Lane, AKernelGetsItsScratchMemoryForEveryJob) {
  for (const bool in_place : {false, true}) {
    VirtualTimeDevice device({}, {.works_in_place = in_place});
    KernelRegistry registry;
    std::uint64_t workspace_bytes = 0;
    registry.add(std::make_unique<ScriptedKernel>(
        ScriptedKernel::Script{.workspace_bytes = 1000, .run = [&](const overlap_batch& batch) {
                                 workspace_bytes = batch.workspace_bytes;
                                 std::memset(batch.workspace, 0xff, batch.workspace_bytes);
                               }}));
    Feed feed("scripted", {}, &registry);
    Lane sut(device, {.max_batch_jobs = 8});
    Batch batch = feed.batch(8, 16);
    sut.issue(batch);
    run(device);
    EXPECT_GE(workspace_bytes, 8U * 1000U);
  }
}

struct Way {
  LaneKind kind;
  bool in_place;
  Path path = Path::copy;
};

TEST(Lane, ALongPipelineGivesWhatItsReferenceGives) {
  for (const Way way :
       {Way{LaneKind::single, false}, Way{LaneKind::three, false}, Way{LaneKind::single, true},
        Way{LaneKind::single, false, Path::mapped}, Way{LaneKind::three, false, Path::mapped},
        Way{LaneKind::single, false, Path::gather}, Way{LaneKind::three, false, Path::gather}}) {
    for (const char* pipeline : {"copy", "scale:a=2,b=1|transpose:rows=8,cols=4",
                                 "scale:a=2|scale:b=3|transpose:rows=4,cols=8",
                                 "twice|vector_add|scale:a=3,type=i16|twice",
                                 "copy|copy|copy|copy|copy|copy|copy|twice"}) {
      SCOPED_TRACE(pipeline);
      VirtualTimeDevice device(k10_30_10, {.works_in_place = way.in_place});
      Feed feed(pipeline, {.output_bytes = 8192});
      Lane sut(device, {.kind = way.kind, .max_batch_jobs = 16});
      const std::uint32_t jobs = sut.max_batch_jobs(feed.channel->pipeline(0));
      Batch batch = feed.batch(jobs, 1024);
      batch.path = way.path;
      sut.issue(batch);
      run(device);
      const auto ended = sut.harvest();
      ASSERT_TRUE(ended.has_value());
      EXPECT_TRUE(ended->status.ok());
      EXPECT_TRUE(ended->table->all_ok());
      feed.expect_results(jobs, 1024);
      const bool copies = !way.in_place && way.path == Path::copy;
      EXPECT_EQ(device.calls(Call::copy_in), copies ? 1U : 0U);
      EXPECT_EQ(device.calls(Call::copy_out), copies ? 1U : 0U);
    }
  }
}

TEST(Lane, ManyStagesLeaveRoomForFewerJobs) {
  VirtualTimeDevice device({});
  const Feed one("copy");
  const Feed two("copy|copy");
  const Feed eight("copy|copy|copy|copy|copy|copy|copy|copy");
  Lane sut(device, {.max_batch_jobs = 100});
  EXPECT_EQ(sut.max_batch_jobs(one.channel->pipeline(0)), 100U);
  EXPECT_EQ(sut.max_batch_jobs(two.channel->pipeline(0)), 100U);
  EXPECT_EQ(sut.max_batch_jobs(eight.channel->pipeline(0)), 40U);
  Lane smallest(device, {.max_batch_jobs = 1});
  EXPECT_EQ(smallest.max_batch_jobs(eight.channel->pipeline(0)), 1U);
}

TEST(Lane, AMappedBatchIsOneLaunchInTheSlotsAndNeedsNoBuffer) {
  VirtualTimeDevice device({}, {.kernels_reach_pinned = true});
  Feed feed("scale:a=2");
  Lane sut(device, {.max_batch_jobs = 16});
  const std::uint64_t allocated = device.calls(Call::allocate);
  Batch batch = feed.batch(16, 1024);
  batch.path = Path::mapped;
  sut.issue(batch);
  EXPECT_EQ(device.calls(Call::launch), 1U);
  EXPECT_EQ(device.calls(Call::allocate), allocated);
  run(device);
  feed.expect_results(16, 1024);
}

TEST(Lane, AGatheredBatchIsThreeLaunchesHoweverManyJobs) {
  VirtualTimeDevice device({}, {.kernels_reach_pinned = true});
  Feed feed("scale:a=2");
  Lane sut(device, {.max_batch_jobs = 16});
  Batch batch = feed.batch(16, 1000);
  batch.path = Path::gather;
  sut.issue(batch);
  EXPECT_EQ(device.calls(Call::launch), 3U);
  run(device);
  feed.expect_results(16, 1000);
}

TEST(Lane, InPlaceNothingIsCopiedAndOneStageNeedsNoBuffer) {
  VirtualTimeDevice device({}, {.works_in_place = true});
  Feed one("scale:a=2");
  Feed two("scale:a=2|scale:b=1");
  Lane sut(device, {.depth = 1, .max_batch_jobs = 16});
  const std::uint64_t tables = device.calls(Call::allocate);
  Batch batch = one.batch(4, 256);
  sut.issue(batch);
  EXPECT_EQ(device.calls(Call::allocate), tables);
  run(device);
  sut.retire();
  batch = two.batch(4, 256);
  sut.issue(batch);
  EXPECT_EQ(device.calls(Call::allocate), tables + 1);
  run(device);
  EXPECT_EQ(device.calls(Call::copy_in) + device.calls(Call::copy_out), 0U);
  one.expect_results(4, 256);
  two.expect_results(4, 256);
}

TEST(Lane, BuffersAreKeptAndGrowOnlyWhenABatchIsLarger) {
  VirtualTimeDevice device({});
  Feed feed("copy", {.slot_count = 64, .input_bytes = 1U << 20U, .output_bytes = 1U << 20U});
  Lane sut(device, {.depth = 1, .max_batch_jobs = 64, .initial_buffer_bytes = 4U << 20U});
  const std::uint64_t tables = device.calls(Call::allocate);
  const auto issue = [&](std::uint32_t jobs, std::uint64_t bytes, std::uint32_t first) {
    Batch batch = feed.batch(jobs, bytes, first);
    sut.issue(batch);
    run(device);
    EXPECT_TRUE(sut.harvest()->status.ok());
    sut.retire();
    return device.calls(Call::allocate) - tables;
  };
  EXPECT_EQ(issue(1, 1, 0), 2U);
  EXPECT_EQ(issue(4, 1U << 20U, 1), 2U) << "as large as the buffer was from the start";
  EXPECT_EQ(issue(5, 1U << 20U, 5), 4U);
  EXPECT_EQ(issue(5, 1U << 20U, 10), 4U);
}

TEST(Lane, WithoutMemoryABatchFailsAndTheNextOneRuns) {
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    VirtualTimeDevice device({});
    Feed feed("copy");
    Lane sut(device, {.depth = 1, .max_batch_jobs = 4});
    device.fail(Call::allocate, device.calls(Call::allocate) + nth, {DeviceOutcome::failed, 2});
    Batch batch = feed.batch(1, 4096, 0);
    sut.issue(batch);
    const auto failed = sut.harvest();
    ASSERT_TRUE(failed.has_value());
    EXPECT_EQ(failed->status.outcome, DeviceOutcome::failed);
    EXPECT_EQ(failed->status.code, 2);
    EXPECT_EQ(device.calls(Call::copy_in) + device.calls(Call::launch), 0U);
    sut.retire();
    batch = feed.batch(1, 4096, 1);
    sut.issue(batch);
    run(device);
    EXPECT_TRUE(sut.harvest()->status.ok());
  }
}

TEST(Lane, AFailureShowsOnlyWhenNothingTouchesTheSlotsAnyMore) {
  // Whatever call fails, what was enqueued before goes on; until it ends the batch is not over.
  for (const LaneKind kind : {LaneKind::single, LaneKind::three}) {
    for (const Call call : {Call::launch, Call::copy_out}) {
      VirtualTimeDevice device(k10_30_10);
      Feed feed("copy");
      Lane sut(device, {.kind = kind, .max_batch_jobs = 4});
      device.fail(call, 1, {DeviceOutcome::failed, 719});
      Batch batch = feed.batch(1, 4096);
      sut.issue(batch);
      const std::uint64_t busy_until_ns = call == Call::launch ? 10'000'000 : 40'000'000;
      while (!sut.harvest()) {
        ASSERT_TRUE(device.advance_to_next());
      }
      EXPECT_EQ(device.now_ns(), busy_until_ns);
      EXPECT_EQ(sut.harvest()->status.outcome, DeviceOutcome::failed);
      EXPECT_EQ(sut.harvest()->status.code, 719);
      EXPECT_FALSE(device.advance_to_next()) << "something was still going on";
    }
  }
}

TEST(Lane, ThreeStreamsAreJoinedWhicheverCallFails) {
  for (std::uint64_t nth = 1; nth <= 2; ++nth) {
    VirtualTimeDevice device(k10_30_10);
    Feed feed("copy");
    Lane sut(device, {.kind = LaneKind::three, .max_batch_jobs = 4});
    device.fail(Call::record, nth, {DeviceOutcome::failed, 3});
    Batch batch = feed.batch(1, 4096);
    sut.issue(batch);
    while (!sut.harvest()) {
      ASSERT_TRUE(device.advance_to_next());
    }
    EXPECT_EQ(sut.harvest()->status.outcome, DeviceOutcome::failed);
    EXPECT_EQ(device.now_ns(), nth == 1 ? 10'000'000U : 40'000'000U);
    EXPECT_FALSE(device.advance_to_next());
  }
}

TEST(Lane, WithoutItsEventABatchIsAsGoodAsLost) {
  VirtualTimeDevice device({});
  Feed feed("copy");
  Lane sut(device, {.max_batch_jobs = 4});
  device.fail(Call::record, 1, {DeviceOutcome::failed, 9});
  Batch batch = feed.batch(1, 4096);
  sut.issue(batch);
  const auto ended = sut.harvest();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status.outcome, DeviceOutcome::lost);
  EXPECT_EQ(ended->status.code, 9);
}

TEST(Lane, AnErrorOfTheQueryIsNeverNotYet) {
  for (const DeviceOutcome outcome : {DeviceOutcome::failed, DeviceOutcome::lost}) {
    VirtualTimeDevice device({});
    Feed feed("copy");
    Lane sut(device, {.max_batch_jobs = 4});
    device.fail(Call::complete, 1, {outcome, 700});
    Batch batch = feed.batch(1, 4096);
    sut.issue(batch);
    const auto ended = sut.harvest();
    ASSERT_TRUE(ended.has_value());
    EXPECT_EQ(ended->status.outcome, outcome);
    EXPECT_EQ(ended->status.code, 700);
  }
}

TEST(Lane, ADeviceThatIsLostDuringTheIssueIsLost) {
  VirtualTimeDevice device({});
  Feed feed("copy");
  Lane sut(device, {.kind = LaneKind::three, .max_batch_jobs = 4});
  device.fail(Call::launch, 1, {DeviceOutcome::lost, 700});
  Batch batch = feed.batch(1, 4096);
  sut.issue(batch);
  const auto ended = sut.harvest();
  ASSERT_TRUE(ended.has_value());
  EXPECT_EQ(ended->status.outcome, DeviceOutcome::lost);
}

TEST(Lane, SaysWhenTheDeviceGivesNoTable) {
  VirtualTimeDevice device({});
  device.fail(Call::allocate, 2, {DeviceOutcome::failed, 2});
  EXPECT_THROW(Lane(device, {.depth = 2, .max_batch_jobs = 4}), std::runtime_error);
}

}  // namespace
}  // namespace overlap
