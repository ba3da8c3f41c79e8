#include "daemon/engine/engine.hpp"

#include "kernels/batch_items.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"
#include "tests/unit/forwarding_device.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <map>
#include <random>
#include <set>

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
constexpr DeviceStatus kLost = {DeviceOutcome::lost, 700};
/// Every copy and kernel takes a while, so that work is in flight between two steps.
constexpr VirtualCosts kSlow = {.copy_in = 1ms, .copy_out = 1ms, .kernel = 3ms};
/// One batch of one job at a time.
constexpr EngineSettings kOneByOne = {.lane_count = 1, .depth = 1, .max_batch_jobs = 1};

std::map<JobStatus, int> collect_statuses(ChannelHarness& producer) {
  std::map<JobStatus, int> statuses;
  for (const CompletionEntry& entry : producer.collect()) {
    ++statuses[static_cast<JobStatus>(entry.status)];
  }
  return statuses;
}

std::uint64_t device_calls(const VirtualTimeDevice& device) {
  return device.calls(Call::copy_in) + device.calls(Call::launch) + device.calls(Call::copy_out) +
         device.calls(Call::record);
}

// --- taking, forming, issuing

TEST(Engine, HasNothingToDoWithoutChannels) {
  EngineHarness sut;
  EXPECT_EQ(sut.step(), 0U);
  EXPECT_FALSE(sut.engine.has_work_in_flight());
  EXPECT_FALSE(sut.engine.has_polled_channels());
  EXPECT_TRUE(sut.engine.fall_asleep());
}

TEST(Engine, HasNothingToDoWithoutSubmissions) {
  EngineHarness sut;
  sut.attach({"copy"});
  EXPECT_EQ(sut.step(), 0U);
  EXPECT_EQ(device_calls(sut.device), 0U);
}

TEST(Engine, AnswersOneJob) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  producer.submit_filled(1, 0, 4096);
  sut.run();
  expect_copies(producer, 1);
  EXPECT_EQ(sut.engine.counters().batches.load(), 1U);
  EXPECT_EQ(sut.engine.counters().jobs_done.load(), 1U);
  EXPECT_EQ(sut.engine.counters().input_bytes.load(), 4096U);
  EXPECT_EQ(sut.engine.counters().output_bytes.load(), 4096U);
}

TEST(Engine, AnswersManyTimesMoreJobsThanSlots) {
  EngineHarness sut({.lane_count = 3, .depth = 2, .max_batch_jobs = 5}, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  for (int round = 0; round < 20; ++round) {
    submit_many(producer, 16, 1000);
    sut.run();
    expect_copies(producer, 16);
  }
  EXPECT_EQ(sut.engine.counters().jobs_done.load(), 320U);
}

TEST(Engine, AnEmptyJobMakesNoCallToTheDevice) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"scale:type=f32|copy"});
  producer.submit(1, 0, 0);
  sut.run();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::ok);
  EXPECT_EQ(completed[0].output_bytes, 0U);
  EXPECT_EQ(device_calls(sut.device), 0U);
}

TEST(Engine, ServesItsChannelsInTurn) {
  EngineHarness sut(kOneByOne, kSlow);
  std::vector<ChannelHarness*> producers;
  for (int i = 0; i < 3; ++i) {
    producers.push_back(&sut.attach({"copy"}));
    submit_many(*producers.back(), 5);
  }
  std::vector<std::uint64_t> order;
  do {
    for (ChannelHarness* producer : producers) {
      for (std::size_t i = producer->collect().size(); i > 0; --i) {
        order.push_back(static_cast<std::uint64_t>(producer->id()));
      }
    }
  } while (sut.step() != 0 || sut.device.advance_to_next());
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3, 1, 2, 3}));
}

TEST(Engine, ALateChannelDoesNotWaitForAFullQueue) {
  EngineHarness sut(kOneByOne, kSlow);
  ChannelHarness& busy = sut.attach({"copy"});
  ChannelHarness& late = sut.attach({"copy"});
  submit_many(busy, 16);
  sut.run_until(6'000'000);
  late.submit_filled(1, 0, 256);
  sut.run_until(18'000'000);
  expect_copies(late, 1);
  EXPECT_LE(busy.collect().size(), 3U);
}

TEST(Engine, ABatchHoldsNoMoreJobsThanItsLimit) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_jobs = 4});
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 10);
  sut.run();
  expect_copies(producer, 10);
  EXPECT_EQ(sut.engine.counters().batches.load(), 3U);
}

TEST(Engine, ABatchHoldsNoMoreBytesThanItsLimit) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_bytes = 3000});
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 6, 1000);
  submit_many(producer, 2, 1001, 6);
  sut.run();
  expect_copies(producer, 8);
  // 3 x 1000, 3 x 1000, 2 x 1001.
  EXPECT_EQ(sut.engine.counters().batches.load(), 3U);
}

TEST(Engine, AJobBeyondTheLimitOfBytesRunsAlone) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_bytes = 3000});
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 1, 1000);
  submit_many(producer, 1, 4096, 1);
  submit_many(producer, 1, 1000, 2);
  sut.run();
  expect_copies(producer, 3);
  EXPECT_EQ(sut.engine.counters().batches.load(), 3U);
}

TEST(Engine, JobsOfDifferentPipelinesAreNotMixedAndStayInOrder) {
  EngineHarness sut({.lane_count = 1, .depth = 1});
  ChannelHarness& producer = sut.attach({"copy", "copy|copy"});
  const std::vector<std::uint8_t> pipelines = {0, 0, 1, 1, 1, 0};
  for (std::uint32_t slot = 0; slot < pipelines.size(); ++slot) {
    SubmissionEntry entry{};
    entry.job_id = slot;
    entry.slot = slot;
    entry.pipeline_index = pipelines[slot];
    entry.input_bytes = 256;
    producer.submit(entry);
  }
  sut.run();
  std::vector<std::uint64_t> order;
  for (const CompletionEntry& entry : producer.collect()) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
    order.push_back(entry.job_id);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{0, 1, 2, 3, 4, 5}));
  EXPECT_EQ(sut.engine.counters().batches.load(), 3U);
  EXPECT_EQ(sut.device.calls(Call::launch), 1U + 2U + 1U);
}

TEST(Engine, NeverHasMoreBatchesUnderWayThanItsLanesHold) {
  EngineHarness sut({.lane_count = 3, .depth = 2, .max_batch_jobs = 1}, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 16);
  do {
    EXPECT_LE(marked_count(producer), 6U);
  } while (sut.step() != 0 || sut.device.advance_to_next());
  expect_copies(producer, 16);
  EXPECT_EQ(marked_count(producer), 0U);
}

/// Sees for every copy whether the slot that it reads was marked before.
class MarkWatcher final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  DeviceStatus copy_in(StreamId stream, std::span<const CopyRange> ranges) override {
    EXPECT_EQ(marked_count(*producer), 4U);
    ++copies;
    return ForwardingDevice::copy_in(stream, ranges);
  }
  const ChannelHarness* producer = nullptr;
  int copies = 0;
};

TEST(Engine, ASlotIsMarkedBeforeTheDeviceHearsOfItAndUntilItIsDone) {
  VirtualTimeDevice device(kSlow);
  MarkWatcher watcher(device);
  RecordingListener listener;
  ChannelHarness producer(1, {"copy"}, {});
  watcher.producer = &producer;
  Engine sut(watcher, {.lane_count = 1, .depth = 1}, listener);
  sut.add(producer.make_channel(), 0);
  submit_many(producer, 4);
  EXPECT_EQ(marked_count(producer), 0U);
  while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
    EXPECT_EQ(marked_count(producer), producer.completions().available() == 0 ? 4U : 0U);
  }
  EXPECT_EQ(watcher.copies, 1);
  expect_copies(producer, 4);
}

TEST(Engine, AJobWhoseDeadlinePassesInTheQueueIsNotIssued) {
  EngineHarness sut(kOneByOne, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    SubmissionEntry entry{};
    entry.slot = slot;
    entry.input_bytes = 256;
    entry.deadline_ns = 4'000'000;
    producer.submit(entry);
  }
  sut.run();
  const auto statuses = collect_statuses(producer);
  EXPECT_EQ(statuses,
            (std::map<JobStatus, int>{{JobStatus::ok, 1}, {JobStatus::deadline_passed, 2}}));
  EXPECT_EQ(sut.device.calls(Call::launch), 1U);
}

TEST(Engine, AJobThatItsKernelRejectsFailsAlone) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy|judge"});
  for (std::uint32_t slot = 0; slot < 5; ++slot) {
    const std::byte verdict = slot == 1   ? testing::kFailing
                              : slot == 3 ? testing::kTooSmall
                                          : std::byte{1};
    producer.view().input(slot)[0] = verdict;
    producer.submit(slot, slot, 256);
  }
  sut.run();
  for (const CompletionEntry& entry : producer.collect()) {
    const auto status = static_cast<JobStatus>(entry.status);
    if (entry.slot == 1) {
      EXPECT_EQ(status, JobStatus::kernel_failed);
    } else if (entry.slot == 3) {
      EXPECT_EQ(status, JobStatus::output_too_small);
      EXPECT_EQ(entry.detail_value, 5U) << "KiB of " << testing::kJudgeNeedsBytes << " bytes";
    } else {
      EXPECT_EQ(status, JobStatus::ok);
    }
  }
  EXPECT_EQ(sut.engine.counters().jobs_done.load(), 3U);
  EXPECT_EQ(sut.engine.counters().jobs_failed.load(), 2U);
  EXPECT_EQ(sut.engine.counters().jobs_retried.load(), 0U);
}

TEST(Engine, SaysAtOnceWhatTheDeviceCannotGive) {
  VirtualTimeDevice device({});
  RecordingListener listener;
  device.fail(Call::allocate, 3, {DeviceOutcome::failed, 2});
  EXPECT_THROW(Engine(device, {.lane_count = 2, .depth = 2}, listener), std::runtime_error);
}

// --- isolated jobs

TEST(Engine, AnIsolatedJobRunsWithNothingElseIssued) {
  EngineHarness sut({.lane_count = 3, .depth = 2, .max_batch_jobs = 2}, kSlow);
  ChannelHarness& a = sut.attach({"copy"});
  ChannelHarness& b = sut.attach({"copy"});
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    a.submit(slot, slot, 256, slot == 3 || slot == 4 ? kSubmissionIsolate : std::uint16_t{0});
    b.submit(slot, slot, 256, slot == 9 ? kSubmissionIsolate : std::uint16_t{0});
  }
  std::set<std::pair<ChannelId, std::uint32_t>> seen_alone;
  std::uint32_t most_together = 0;
  while (sut.step() != 0 || sut.device.advance_to_next()) {
    const std::uint32_t together = marked_count(a) + marked_count(b);
    most_together = std::max(most_together, together);
    for (const auto& [producer, slot] : {std::pair{&a, 3U}, {&a, 4U}, {&b, 9U}}) {
      if (producer->is_marked_issued(slot)) {
        EXPECT_EQ(together, 1U) << "with slot " << slot;
        seen_alone.insert({producer->id(), slot});
      }
    }
  }
  EXPECT_EQ(seen_alone.size(), 3U);
  EXPECT_GT(most_together, 2U) << "the others ran together, before and after";
  EXPECT_EQ(a.collect().size(), 16U);
  EXPECT_EQ(b.collect().size(), 16U);
}

TEST(Engine, AnIsolatedJobIsNotStarvedByTheOthers) {
  EngineHarness sut({.lane_count = 2, .depth = 2, .max_batch_jobs = 1}, kSlow);
  ChannelHarness& busy = sut.attach({"copy"}, {.slot_count = 64});
  ChannelHarness& careful = sut.attach({"copy"});
  submit_many(busy, 64);
  careful.submit(1, 0, 256, kSubmissionIsolate);
  while (careful.completions().available() == 0) {
    ASSERT_TRUE(sut.step() != 0 || sut.device.advance_to_next());
  }
  EXPECT_LE(busy.completions().available(), 5U);
  sut.run();
  EXPECT_EQ(busy.collect().size(), 64U);
}

TEST(Engine, AnIsolatedJobThatFailsIsRetriedIsolatedAndLetsTheOthersOn) {
  EngineHarness sut({.lane_count = 2, .depth = 2}, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  producer.submit(1, 0, 256, kSubmissionIsolate);
  sut.device.fail(Call::launch, 1, kFault);
  sut.device.fail(Call::launch, 2, kFault);
  submit_many(producer, 4, 256, 1);
  while (sut.step() != 0 || sut.device.advance_to_next()) {
    EXPECT_TRUE(!producer.is_marked_issued(0) || marked_count(producer) == 1);
  }
  EXPECT_EQ(collect_statuses(producer),
            (std::map<JobStatus, int>{{JobStatus::kernel_failed, 1}, {JobStatus::ok, 4}}));
}

// --- faults

TEST(Engine, AFailedBatchIsIssuedOnceMoreJobByJob) {
  for (const Call call : {Call::copy_in, Call::launch, Call::copy_out, Call::complete}) {
    for (const LaneKind kind : {LaneKind::single, LaneKind::three}) {
      SCOPED_TRACE(static_cast<int>(call));
      EngineHarness sut({.lane_count = 2, .depth = 2, .lane_kind = kind, .max_batch_jobs = 8},
                        kSlow);
      ChannelHarness& producer = sut.attach({"copy"});
      sut.device.fail(call, 1, kFault);
      submit_many(producer, 6);
      sut.run();
      expect_copies(producer, 6);
      EXPECT_EQ(sut.engine.counters().jobs_retried.load(), 6U);
      EXPECT_EQ(sut.engine.counters().batches.load(), 1U + 6U);
      EXPECT_FALSE(sut.engine.is_lost());
    }
  }
}

TEST(Engine, JobsThatComeBackStandInTheirOldOrderBeforeTheRest) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_jobs = 4});
  ChannelHarness& producer = sut.attach({"copy"});
  sut.device.fail(Call::launch, 1, kFault);
  submit_many(producer, 6);
  sut.run();
  std::vector<std::uint64_t> order;
  for (const CompletionEntry& entry : producer.collect()) {
    order.push_back(entry.job_id);
  }
  EXPECT_EQ(order, (std::vector<std::uint64_t>{1, 2, 3, 4, 5, 6}));
  // Four together, then each of them alone, the last one too, then the rest.
  EXPECT_EQ(sut.engine.counters().batches.load(), 1U + 4U + 1U);
}

TEST(Engine, AJobThatFailsTwiceEndsWithTheDevicesNumber) {
  for (const Call call : {Call::copy_in, Call::launch, Call::copy_out, Call::complete}) {
    SCOPED_TRACE(static_cast<int>(call));
    EngineHarness sut({.lane_count = 1, .depth = 1}, kSlow);
    ChannelHarness& producer = sut.attach({"copy"});
    // The batch of three, then the first of them alone.
    sut.device.fail(call, 1, {DeviceOutcome::failed, 1});
    sut.device.fail(call, 2, kFault);
    submit_many(producer, 3);
    sut.run();
    for (const CompletionEntry& entry : producer.collect()) {
      const bool failed = entry.job_id == 1;
      EXPECT_EQ(static_cast<JobStatus>(entry.status),
                failed ? JobStatus::kernel_failed : JobStatus::ok);
      EXPECT_EQ(entry.detail_code, failed ? 719U : 0U);
    }
    EXPECT_EQ(sut.engine.counters().jobs_failed.load(), 1U);
    EXPECT_EQ(marked_count(producer), 0U);
  }
}

/// Refuses to launch any batch with a job of one certain size in it.
class PoisonedDevice final : public ForwardingDevice {
 public:
  static constexpr std::uint64_t kPoisonBytes = 666;

  using ForwardingDevice::ForwardingDevice;
  DeviceStatus launch(StreamId stream, const Kernel& kernel, const overlap_batch& batch) override {
    bool is_poisoned = false;
    for (std::uint32_t i = 0; i < batch.item_count; ++i) {
      is_poisoned = is_poisoned || item_at(batch, i).input_bytes == kPoisonBytes;
    }
    return is_poisoned ? kFault : ForwardingDevice::launch(stream, kernel, batch);
  }
};

TEST(Engine, OneJobThatAlwaysFailsSpoilsNoOther) {
  VirtualTimeDevice device(kSlow);
  PoisonedDevice poisoned(device);
  RecordingListener listener;
  ChannelHarness odd(1, {"copy"}, {});
  ChannelHarness healthy(2, {"copy"}, {});
  Engine sut(poisoned, {.lane_count = 2, .depth = 2, .max_batch_jobs = 8}, listener);
  sut.add(odd.make_channel(), 0);
  sut.add(healthy.make_channel(), 0);
  for (std::uint32_t slot = 0; slot < 16; ++slot) {
    odd.submit_filled(slot, slot, slot == 5 ? PoisonedDevice::kPoisonBytes : 256);
    healthy.submit_filled(slot, slot, 256);
  }
  while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
  }
  expect_copies(healthy, 16);
  const auto completed = odd.collect();
  EXPECT_EQ(completed.size(), 16U);
  for (const CompletionEntry& entry : completed) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status),
              entry.job_id == 5 ? JobStatus::kernel_failed : JobStatus::ok);
  }
}

TEST(Engine, WithoutMemoryAJobFailsAndLaterOnesRun) {
  EngineHarness sut({.lane_count = 1, .depth = 1});
  ChannelHarness& producer = sut.attach({"copy"});
  const std::uint64_t tables = sut.device.calls(Call::allocate);
  sut.device.fail(Call::allocate, tables + 1, kFault);
  sut.device.fail(Call::allocate, tables + 2, kFault);
  producer.submit_filled(1, 0, 256);
  sut.run();
  const auto completed = producer.collect();
  ASSERT_EQ(completed.size(), 1U);
  EXPECT_EQ(static_cast<JobStatus>(completed[0].status), JobStatus::kernel_failed);
  EXPECT_EQ(completed[0].detail_code, 2U);
  producer.submit_filled(2, 1, 256);
  sut.run();
  expect_copies(producer, 1);
}

TEST(Engine, ALostDeviceStopsEverythingAndIsReportedOnce) {
  for (const Call call :
       {Call::copy_in, Call::launch, Call::copy_out, Call::record, Call::complete}) {
    SCOPED_TRACE(static_cast<int>(call));
    EngineHarness sut({.lane_count = 2, .depth = 2, .max_batch_jobs = 1}, kSlow);
    ChannelHarness& producer = sut.attach({"copy"});
    sut.device.fail(call, 3, kLost);
    submit_many(producer, 16);
    sut.run();
    EXPECT_TRUE(sut.engine.is_lost());
    EXPECT_EQ(sut.listener.lost_codes, (std::vector<int>{700}));
    const std::uint64_t calls = device_calls(sut.device);
    const auto answered = producer.collect().size();
    producer.submit(99, 0, 256);
    EXPECT_EQ(sut.step(), 0U);
    EXPECT_EQ(device_calls(sut.device), calls);
    EXPECT_EQ(sut.listener.lost_codes.size(), 1U);
    // What may have killed it stays marked; what never got there is not.
    EXPECT_GE(marked_count(producer), 1U);
    EXPECT_LE(marked_count(producer), 4U);
    EXPECT_LT(answered, 16U);
  }
}

TEST(Engine, NothingIsTakenOrIssuedOnceTheDeviceIsFoundLost) {
  EngineHarness sut({.lane_count = 2, .depth = 1, .max_batch_jobs = 1});
  ChannelHarness& producer = sut.attach({"copy"});
  sut.device.fail(Call::complete, 2, kLost);
  submit_many(producer, 4);
  EXPECT_NE(sut.step(), 0U);
  EXPECT_EQ(sut.device.calls(Call::launch), 2U);
  // The first batch is found over, the second one lost, in the same step.
  producer.submit_filled(5, 4, 256);
  sut.step();
  EXPECT_TRUE(sut.engine.is_lost());
  EXPECT_EQ(sut.device.calls(Call::launch), 2U);
  expect_copies(producer, 1);
  EXPECT_TRUE(producer.is_marked_issued(1));
  EXPECT_FALSE(producer.is_marked_issued(2)) << "an innocent job would be taken for the culprit";
}

// --- violations and removal

TEST(Engine, AViolationClosesThatChannelAlone) {
  EngineHarness sut({.lane_count = 1, .depth = 1, .max_batch_jobs = 1}, kSlow);
  ChannelHarness& offender = sut.attach({"copy"});
  ChannelHarness& healthy = sut.attach({"copy"});
  submit_many(offender, 3);
  sut.step();
  offender.submit(9, 99, 256);
  submit_many(healthy, 16);
  sut.run();
  ASSERT_EQ(sut.listener.violations.size(), 1U);
  EXPECT_EQ(sut.listener.violations[0].first, offender.id());
  EXPECT_EQ(sut.listener.violations[0].second, "a submission names slot 99 of 16");
  expect_copies(healthy, 16);
  // What was on the device is answered, what waited is dropped.
  expect_copies(offender, 1);
  EXPECT_TRUE(sut.listener.removed.empty());
  sut.engine.remove(offender.id());
  sut.step();
  EXPECT_EQ(sut.listener.removed, (std::vector<ChannelId>{offender.id()}));
  EXPECT_EQ(sut.listener.violations.size(), 1U);
}

TEST(Engine, AnIdleChannelIsRemovedAtOnce) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  sut.engine.remove(producer.id());
  EXPECT_TRUE(sut.listener.removed.empty());
  sut.step();
  EXPECT_EQ(sut.listener.removed, (std::vector<ChannelId>{producer.id()}));
  EXPECT_FALSE(sut.engine.has_polled_channels());
}

TEST(Engine, AChannelIsRemovedOnlyWhenNothingTouchesItsMemory) {
  VirtualTimeDevice device(kSlow);
  RecordingListener listener;
  Engine sut(device, {.lane_count = 1, .depth = 2, .max_batch_jobs = 2}, listener);
  ChannelHarness stays(2, {"copy"}, {});
  sut.add(stays.make_channel(), 0);
  {
    ChannelHarness leaves(1, {"copy"}, {});
    sut.add(leaves.make_channel(), 0);
    submit_many(leaves, 16);
    submit_many(stays, 16);
    sut.do_work(device.now_ns());
    ASSERT_EQ(marked_count(leaves), 2U);
    sut.remove(leaves.id());
    sut.remove(leaves.id());
    while (listener.removed.empty()) {
      EXPECT_EQ(marked_count(leaves), 2U);
      ASSERT_TRUE(sut.do_work(device.now_ns()) != 0 || device.advance_to_next());
    }
    EXPECT_EQ(marked_count(leaves), 0U);
    EXPECT_EQ(leaves.collect().size(), 2U);
  }
  // The memory has gone: whoever still touched it would crash.
  while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
  }
  EXPECT_EQ(listener.removed, (std::vector<ChannelId>{ChannelId{1}}));
  expect_copies(stays, 16);
}

TEST(Engine, ARemovedChannelsJobsAreNotRetried) {
  EngineHarness sut({.lane_count = 1, .depth = 1}, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  sut.device.fail(Call::launch, 1, kFault);
  submit_many(producer, 3);
  sut.step();
  sut.engine.remove(producer.id());
  sut.run();
  EXPECT_EQ(sut.listener.removed.size(), 1U);
  EXPECT_EQ(sut.device.calls(Call::launch), 1U);
  EXPECT_TRUE(producer.collect().empty());
}

TEST(Engine, TheRemovalOfAnUnknownChannelIsNoError) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  sut.engine.remove(ChannelId{99});
  producer.submit_filled(1, 0, 256);
  sut.run();
  expect_copies(producer, 1);
  EXPECT_TRUE(sut.listener.removed.empty());
}

// --- drain

TEST(Engine, ADrainWithNothingToDoIsReportedAtOnce) {
  EngineHarness sut;
  sut.attach({"copy"});
  sut.engine.drain();
  sut.step();
  sut.step();
  EXPECT_EQ(sut.listener.drained, 1);
}

TEST(Engine, ADrainEndsWhatWasTakenAndTakesNothingMore) {
  EngineHarness sut(kOneByOne, kSlow);
  ChannelHarness& a = sut.attach({"copy"});
  ChannelHarness& b = sut.attach({"copy"});
  submit_many(a, 5);
  submit_many(b, 5);
  sut.step();
  sut.engine.drain();
  a.submit_filled(6, 5, 256);
  while (sut.step() != 0 || sut.device.advance_to_next()) {
    const auto answered = a.completions().available() + b.completions().available();
    EXPECT_EQ(sut.listener.drained, answered == 10 ? 1 : 0);
  }
  expect_copies(a, 5);
  expect_copies(b, 5);
  EXPECT_EQ(sut.listener.drained, 1);
}

TEST(Engine, ADrainWaitsForJobsThatAreIssuedOnceMore) {
  EngineHarness sut({.lane_count = 1, .depth = 1}, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  sut.device.fail(Call::launch, 1, kFault);
  submit_many(producer, 3);
  sut.step();
  sut.engine.drain();
  sut.run();
  expect_copies(producer, 3);
  EXPECT_EQ(sut.listener.drained, 1);
}

TEST(Engine, WindingDownEndsWhatIsOnTheDeviceAndNothingElse) {
  EngineHarness sut(kOneByOne, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 5);
  sut.step();
  while (sut.engine.has_work_in_flight()) {
    sut.engine.wind_down(sut.device.now_ns());
    sut.device.advance_to_next();
  }
  expect_copies(producer, 1);
  EXPECT_EQ(marked_count(producer), 0U);
}

// --- park and sleep

TEST(Engine, AQuietChannelIsParkedAndABusyOneIsNot) {
  EngineHarness sut(kOneByOne, kSlow);
  ChannelHarness& quiet = sut.attach({"copy"});
  ChannelHarness& busy = sut.attach({"copy"});
  submit_many(busy, 2);
  sut.step();
  sut.engine.park(sut.device.now_ns());
  EXPECT_EQ(sut.listener.parked, (std::vector<ChannelId>{quiet.id()}));
  EXPECT_TRUE(sut.engine.has_polled_channels());
  EXPECT_NE(quiet.view().daemon_words().asleep.load(), 0U);
  EXPECT_EQ(busy.view().daemon_words().asleep.load(), 0U);
  sut.run();
  expect_copies(busy, 2);
  sut.engine.park(sut.device.now_ns());
  EXPECT_FALSE(sut.engine.has_polled_channels());
}

TEST(Engine, AChannelThatWasActiveSinceIsNotParked) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 1);
  while (sut.engine.do_work(1000) != 0) {
  }
  sut.engine.park(999);
  EXPECT_TRUE(sut.listener.parked.empty());
  sut.engine.park(1000);
  EXPECT_EQ(sut.listener.parked.size(), 1U);
}

TEST(Engine, AParkedChannelIsServedAgainOnceItsDoorbellRang) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  sut.engine.park(0);
  producer.submit_filled(1, 0, 256);
  EXPECT_TRUE(producer.submissions().publish()) << "the producer has to ring";
  EXPECT_EQ(sut.step(), 0U);
  sut.engine.unpark(producer.id(), 5);
  EXPECT_EQ(sut.listener.unparked, (std::vector<ChannelId>{producer.id()}));
  EXPECT_EQ(producer.view().daemon_words().asleep.load(), 0U);
  // Active from then on.
  while (sut.engine.do_work(6) != 0) {
  }
  expect_copies(producer, 1);
  sut.engine.park(5);
  EXPECT_EQ(sut.listener.parked.size(), 1U);
}

TEST(Engine, ARingTooManyUnparksNothing) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  sut.engine.unpark(producer.id(), 0);
  sut.engine.park(0);
  sut.engine.unpark(producer.id(), 0);
  sut.engine.unpark(ChannelId{99}, 0);
  EXPECT_TRUE(sut.listener.unparked.empty());
  EXPECT_NE(producer.view().daemon_words().asleep.load(), 0U);
  EXPECT_FALSE(sut.engine.has_polled_channels());
}

TEST(Engine, ASubmissionThatRacesTheParkIsNotLost) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  producer.submit_filled(1, 0, 256);
  sut.engine.park(UINT64_MAX);
  EXPECT_TRUE(sut.listener.parked.empty());
  EXPECT_EQ(producer.view().daemon_words().asleep.load(), 0U);
  sut.run();
  expect_copies(producer, 1);
}

TEST(Engine, AParkedChannelCanLeave) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  sut.engine.park(0);
  producer.submit_filled(1, 0, 256);
  sut.engine.remove(producer.id());
  sut.engine.unpark(producer.id(), 0);
  EXPECT_TRUE(sut.listener.unparked.empty());
  sut.step();
  EXPECT_EQ(sut.listener.removed, (std::vector<ChannelId>{producer.id()}));
}

TEST(Engine, AChannelThatLeavesIsNotParked) {
  EngineHarness sut;
  ChannelHarness& producer = sut.attach({"copy"});
  sut.engine.remove(producer.id());
  sut.engine.park(UINT64_MAX);
  EXPECT_TRUE(sut.listener.parked.empty());
  sut.step();
  EXPECT_EQ(sut.listener.removed.size(), 1U);
}

TEST(Engine, FallsAsleepOnlyWhenNobodyHasSubmitted) {
  EngineHarness sut;
  ChannelHarness& a = sut.attach({"copy"});
  ChannelHarness& b = sut.attach({"copy"});
  EXPECT_TRUE(sut.engine.fall_asleep());
  EXPECT_NE(a.view().daemon_words().asleep.load(), 0U);
  EXPECT_NE(b.view().daemon_words().asleep.load(), 0U);
  sut.engine.stay_awake();
  EXPECT_EQ(a.view().daemon_words().asleep.load() + b.view().daemon_words().asleep.load(), 0U);
  a.submit_filled(1, 0, 256);
  EXPECT_FALSE(sut.engine.fall_asleep());
  EXPECT_EQ(a.view().daemon_words().asleep.load() + b.view().daemon_words().asleep.load(), 0U);
}

TEST(Engine, AnAttachedChannelIsAwake) {
  EngineHarness sut;
  EXPECT_EQ(sut.attach({"copy"}).view().daemon_words().asleep.load(), 0U);
}

TEST(Engine, EveryBusyLaneHasAnEventToWaitForThatIsPending) {
  EngineHarness sut({.lane_count = 3, .depth = 2, .max_batch_jobs = 1}, kSlow);
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 2);
  sut.step();
  ASSERT_TRUE(sut.engine.has_work_in_flight());
  std::size_t awaited_count = 0;
  sut.engine.for_each_awaited_event([&](EventId awaited) {
    ++awaited_count;
    EXPECT_EQ(sut.device.query(awaited).state, EventState::pending);
  });
  EXPECT_EQ(awaited_count, 2U);
  sut.run();
  EXPECT_FALSE(sut.engine.has_work_in_flight());
}

TEST(Engine, CountsTheProducersThatItWoke) {
  EngineHarness sut;
  ChannelHarness& sleeper = sut.attach({"copy"});
  ChannelHarness& poller = sut.attach({"copy"});
  EXPECT_FALSE(sleeper.completions().start_waiting(WaitKind::descriptor));
  submit_many(sleeper, 3);
  submit_many(poller, 3);
  sut.run();
  EXPECT_GE(testing::take_rings(sleeper.wake()), 1U);
  EXPECT_EQ(testing::take_rings(poller.wake()), 0U);
  EXPECT_EQ(sut.engine.counters().producer_wakes.load(), 1U);
}

// --- everything at once

/// One producer that submits at random and knows what must come back.
class RandomProducer {
 public:
  RandomProducer(ChannelHarness& channel, std::size_t pipeline_count)
      : channel_(channel), pipeline_count_(pipeline_count) {
    for (std::uint32_t slot = 0; slot < channel.view().geometry().slot_count; ++slot) {
      free_.push_back(slot);
    }
  }

  void submit(std::mt19937_64& random) {
    if (free_.empty()) {
      return;
    }
    const std::uint32_t slot = free_.back();
    free_.pop_back();
    const std::span<std::byte> input = channel_.view().input(slot);
    std::generate(input.begin(), input.end(), [&] { return static_cast<std::byte>(random()); });
    SubmissionEntry entry{};
    entry.job_id = ++last_id_;
    entry.slot = slot;
    entry.pipeline_index = static_cast<std::uint8_t>(random() % pipeline_count_);
    // Mostly whole frames, sometimes anything up to a little too much.
    entry.input_bytes = random() % 4 != 0 ? 128 * (random() % 33) : random() % (input.size() + 200);
    entry.flags = random() % 16 == 0 ? kSubmissionIsolate : std::uint16_t{0};
    channel_.submit(entry);
    under_way_[entry.job_id] = {entry, {input.begin(), input.end()}, false};
    if (random() % 16 == 0) {
      channel_.cancel(entry.job_id, slot);
      under_way_[entry.job_id].cancelled = true;
    }
  }

  void collect(bool faults) {
    for (const CompletionEntry& answer : channel_.collect()) {
      const auto found = under_way_.find(answer.job_id);
      ASSERT_NE(found, under_way_.end()) << "answered twice, or never asked: " << answer.job_id;
      check(found->second, answer, faults);
      free_.push_back(answer.slot);
      under_way_.erase(found);
      ++answered_;
    }
  }

  [[nodiscard]] std::uint64_t submitted() const noexcept { return last_id_; }
  [[nodiscard]] std::uint64_t answered() const noexcept { return answered_; }

 private:
  struct Asked {
    SubmissionEntry entry;
    std::vector<std::byte> input;
    bool cancelled = false;
  };

  void check(const Asked& asked, const CompletionEntry& answer, bool faults) {
    const SubmissionEntry& entry = asked.entry;
    const auto status = static_cast<JobStatus>(answer.status);
    ASSERT_EQ(answer.slot, entry.slot);
    const auto input = channel_.view().input(entry.slot);
    ASSERT_TRUE(std::equal(input.begin(), input.end(), asked.input.begin())) << "input was written";
    const Pipeline& pipeline = channel_.pipeline(entry.pipeline_index);
    const auto planned = pipeline.plan(entry.input_bytes);
    const auto* const plan = std::get_if<PipelinePlan>(&planned);
    if (entry.input_bytes > input.size() || plan == nullptr) {
      ASSERT_EQ(status, JobStatus::input_size_refused);
    } else if (plan->max_output_bytes > channel_.view().geometry().output_bytes) {
      ASSERT_EQ(status, JobStatus::output_too_small);
    } else if (status == JobStatus::cancelled) {
      ASSERT_TRUE(asked.cancelled);
    } else if (status == JobStatus::kernel_failed) {
      ASSERT_TRUE(faults);
      ASSERT_NE(answer.detail_code, 0U);
    } else {
      ASSERT_EQ(status, JobStatus::ok);
      const auto expected = pipeline.reference(std::span(asked.input).first(entry.input_bytes));
      ASSERT_EQ(answer.output_bytes, expected.size());
      const auto output = channel_.view().output(entry.slot);
      ASSERT_TRUE(std::equal(expected.begin(), expected.end(), output.begin()))
          << pipeline.text() << " of " << entry.input_bytes << " bytes";
    }
  }

  ChannelHarness& channel_;
  std::size_t pipeline_count_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint64_t, Asked> under_way_;
  std::uint64_t last_id_ = 0;
  std::uint64_t answered_ = 0;
};

void soak(std::uint64_t seed, bool faults) {
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937_64 random(seed);
  const auto between = [&](std::uint64_t low, std::uint64_t high) {
    return low + random() % (high - low + 1);
  };
  EngineSettings settings;
  settings.lane_count = static_cast<std::uint32_t>(between(1, 4));
  settings.depth = static_cast<std::uint32_t>(between(1, 3));
  settings.lane_kind = random() % 2 == 0 ? LaneKind::single : LaneKind::three;
  settings.max_batch_jobs = static_cast<std::uint32_t>(between(1, 12));
  settings.max_batch_bytes = between(1, 20'000);
  const VirtualCosts costs{
      std::chrono::nanoseconds(between(0, 50)), std::chrono::nanoseconds(between(0, 50)),
      std::chrono::nanoseconds(between(0, 50)), std::chrono::nanoseconds(between(0, 5)),
      std::chrono::nanoseconds(between(0, 5))};
  VirtualResources resources;
  resources.copy_engine_count = static_cast<std::uint32_t>(between(1, 3));
  resources.kernel_sm_count = random() % 2 == 0 ? 0 : 33;
  resources.works_in_place = random() % 3 == 0;
  EngineHarness sut(settings, costs, resources);

  const std::vector<std::string> pipelines = {
      "copy", "scale:a=3,b=1,type=u8|transpose:rows=8,cols=4",
      "scale:a=2,type=i16|scale:b=7,type=i16|transpose:rows=4,cols=8", "twice|vector_add"};
  std::vector<RandomProducer> producers;
  for (std::uint64_t i = between(1, 6); i > 0; --i) {
    const ChannelHarness::Shape shape = {.slot_count = static_cast<std::uint32_t>(between(1, 20)),
                                         .input_bytes = between(700, 4096),
                                         .output_bytes = between(700, 8192),
                                         .pin_chunk_bytes = 4096 * between(1, 8)};
    producers.emplace_back(sut.attach(pipelines, shape), pipelines.size());
  }
  if (faults) {
    constexpr std::array kCalls = {Call::copy_in, Call::copy_out, Call::launch, Call::complete};
    for (int i = 0; i < 60; ++i) {
      sut.device.fail(kCalls[random() % kCalls.size()], between(1, 300), kFault);
    }
    const std::uint64_t tables = sut.device.calls(Call::allocate);
    for (int i = 0; i < 4; ++i) {
      sut.device.fail(Call::allocate, tables + between(1, 20), {DeviceOutcome::failed, 2});
    }
  }
  for (int round = 0; round < 400; ++round) {
    producers[random() % producers.size()].submit(random);
    if (random() % 3 != 0) {
      sut.step();
    }
    if (random() % 3 == 0) {
      sut.device.advance_to_next();
    }
    if (random() % 2 == 0) {
      ASSERT_NO_FATAL_FAILURE(producers[random() % producers.size()].collect(faults));
    }
  }
  sut.run();
  for (RandomProducer& producer : producers) {
    ASSERT_NO_FATAL_FAILURE(producer.collect(faults));
    ASSERT_EQ(producer.answered(), producer.submitted());
  }
  ASSERT_TRUE(sut.listener.violations.empty()) << sut.listener.violations[0].second;
  ASSERT_FALSE(sut.engine.is_lost());
  ASSERT_FALSE(sut.engine.has_work_in_flight());
}

TEST(Engine, AnswersEveryJobOnceAndRightWhateverComes) {
  for (std::uint64_t seed = 1; seed <= 15; ++seed) {
    soak(seed, false);
  }
}

TEST(Engine, AnswersEveryJobOnceAndRightOverFaults) {
  for (std::uint64_t seed = 1001; seed <= 1015; ++seed) {
    soak(seed, true);
  }
}

}  // namespace
}  // namespace overlap
