#include "daemon/engine/batch_copies.hpp"

#include "daemon/engine/engine.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/copy_recorder.hpp"
#include "tests/unit/engine_harness.hpp"
#include "tests/unit/keeping_kernels.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace overlap {
namespace {

using testing::ChannelHarness;
using testing::CopyRecorder;
using testing::EngineHarness;
using testing::expect_copies;
using testing::keeping_registry;
using testing::RecordingListener;

/// One engine, one producer, and the copies that a batch of its jobs was.
struct Copied {
  /// @param slots in the order in which they are submitted, all at once
  Copied(const std::vector<std::uint32_t>& slots, std::uint64_t bytes,
         const std::string& pipeline = "copy")
      : producer(1, {pipeline}, {}, &keeping_registry()) {
    Engine engine(recorder, {.lane_count = 1, .depth = 1}, listener);
    engine.add(producer.make_channel(), 0);
    for (const std::uint32_t slot : slots) {
      producer.submit_filled(slot + 1, slot, bytes);
    }
    while (engine.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
    }
    batches = engine.counters().batches.load();
  }

  VirtualTimeDevice device{{}};
  CopyRecorder recorder{device};
  RecordingListener listener;
  ChannelHarness producer;
  std::uint64_t batches = 0;
};

TEST(BatchCopies, FullSlotsInAnyOrderAreOneCopy) {
  for (const std::vector<std::uint32_t>& slots :
       {std::vector<std::uint32_t>{0, 1, 2, 3}, {3, 2, 1, 0}, {2, 0, 3, 1}}) {
    Copied sut(slots, 4096);
    ASSERT_EQ(sut.batches, 1U);
    ASSERT_EQ(sut.recorder.ins.size(), 1U);
    EXPECT_EQ(sut.recorder.ins[0].source, sut.producer.view().input(0).data());
    EXPECT_EQ(sut.recorder.ins[0].bytes, 4U * 4096U);
    ASSERT_EQ(sut.recorder.outs.size(), 1U);
    EXPECT_EQ(sut.recorder.outs[0].destination, sut.producer.view().output(0).data());
    expect_copies(sut.producer, 4);
  }
}

TEST(BatchCopies, SlotsThatAreNotFullAreRowsOfOneCopy) {
  Copied sut({7, 3, 5, 1}, 1000);
  ASSERT_EQ(sut.recorder.ins.size(), 1U);
  const CopyRange& in = sut.recorder.ins[0];
  EXPECT_EQ(in.source, sut.producer.view().input(1).data());
  EXPECT_EQ(in.bytes, 1000U);
  EXPECT_EQ(in.rows, 4U);
  EXPECT_EQ(in.source_pitch_bytes, 2U * 4096U);
  EXPECT_EQ(in.destination_pitch_bytes, 1024U) << "each at what kernels are promised of it";
  ASSERT_EQ(sut.recorder.outs.size(), 1U);
  EXPECT_EQ(sut.recorder.outs[0].rows, 4U);
  expect_copies(sut.producer, 4);
}

TEST(BatchCopies, JobsThatDependOnEachOtherStayInTheirOrder) {
  Copied sut({3, 2, 1, 0}, sizeof(std::uint64_t), "running_sum");
  ASSERT_EQ(sut.batches, 1U);
  EXPECT_EQ(sut.recorder.ins.size(), 4U);
  const auto number = [](std::span<const std::byte> bytes) {
    std::uint64_t value = 0;
    std::memcpy(&value, bytes.data(), sizeof value);
    return value;
  };
  std::uint64_t sum = 0;
  for (const std::uint32_t slot : {3U, 2U, 1U, 0U}) {
    sum += number(sut.producer.view().input(slot));
    EXPECT_EQ(number(sut.producer.view().output(slot)), sum) << "slot " << slot;
  }
}

TEST(BatchCopies, JobsOfOneSizeAreOneRunWhoeverComesBetween) {
  VirtualTimeDevice device({});
  CopyRecorder recorder(device);
  RecordingListener listener;
  std::vector<std::unique_ptr<ChannelHarness>> producers;
  Engine sut(recorder, {.lane_count = 1, .depth = 1}, listener);
  for (std::uint64_t id = 1; id <= 2; ++id) {
    producers.push_back(std::make_unique<ChannelHarness>(id, std::vector<std::string>{"copy"},
                                                         ChannelHarness::Shape{}));
    sut.add(producers.back()->make_channel(), 0);
  }
  for (std::uint32_t slot = 0; slot < 8; ++slot) {
    for (const auto& producer : producers) {
      producer->submit_filled(slot + 1, slot, slot % 2 == 0 ? 1000 : 600);
    }
  }
  while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
  }
  ASSERT_EQ(sut.counters().batches.load(), 1U);
  // Two producers, two sizes.
  ASSERT_EQ(recorder.ins.size(), 4U);
  for (const CopyRange& in : recorder.ins) {
    EXPECT_EQ(in.rows, 4U);
  }
  for (const auto& producer : producers) {
    expect_copies(*producer, 8);
  }
}

TEST(BatchCopies, JobsOfAFailedBatchAreAllAnsweredInWhateverOrder) {
  for (const auto call : {VirtualTimeDevice::Call::copy_in, VirtualTimeDevice::Call::copy_out,
                          VirtualTimeDevice::Call::complete}) {
    EngineHarness sut({.lane_count = 1, .depth = 1});
    ChannelHarness& producer = sut.attach({"copy"});
    sut.device.fail(call, 1, {DeviceOutcome::failed, 1});
    for (const std::uint32_t slot : {6U, 2U, 4U, 0U}) {
      producer.submit_filled(slot + 1, slot, 1000 + slot % 4);
    }
    sut.run();
    expect_copies(producer, 4);
    EXPECT_EQ(sut.engine.counters().jobs_retried.load(), 4U);
  }
}

/// Which way `auto` takes with four jobs of a page each in these slots.
std::uint64_t mapped_batches(const std::vector<std::uint32_t>& slots) {
  EngineSettings settings;
  settings.lane_count = 1;
  settings.path = {.only = {},
                   .copy_from_job_bytes = 1,
                   .copy_from_batch_bytes = 1,
                   .copy_from_bytes_a_copy = 3 * 4096};
  EngineHarness sut(settings, {}, {.kernels_reach_pinned = true});
  ChannelHarness& producer = sut.attach({"copy"});
  for (const std::uint32_t slot : slots) {
    producer.submit_filled(slot + 1, slot, 4096);
  }
  sut.run();
  expect_copies(producer, 4);
  EXPECT_EQ(sut.engine.counters().batches.load(), 1U);
  return sut.engine.counters().batches_mapped.load();
}

TEST(BatchCopies, EnginesCarryWhatLiesEvenlyAndKernelsWhatIsScattered) {
  EXPECT_EQ(mapped_batches({0, 1, 2, 3}), 0U) << "one copy";
  EXPECT_EQ(mapped_batches({9, 6, 3, 0}), 0U) << "one copy of rows";
  EXPECT_EQ(mapped_batches({1, 9, 0, 8}), 1U) << "two copies of two pages";
  EXPECT_EQ(mapped_batches({0, 3, 7, 12}), 1U) << "two copies of two rows";
}

}  // namespace
}  // namespace overlap
