// Which of several classes of channels goes first, on the engine's side and on the device's.

#include "daemon/engine/engine.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::expect_copies;
using testing::submit_many;

constexpr std::uint64_t kMs = 1'000'000;
constexpr VirtualCosts kOneMs = {.kernel = 1ms};
constexpr VirtualResources kReaching = {.kernels_reach_pinned = true};
constexpr EngineSettings kOneByOne = {.lane_count = 3, .depth = 2, .max_batch_jobs = 1};

/// When the first and the last job that the producer collects were done.
std::pair<std::uint64_t, std::uint64_t> span_of(ChannelHarness& producer, std::size_t count) {
  const auto completed = producer.collect();
  EXPECT_EQ(completed.size(), count);
  std::uint64_t first = UINT64_MAX;
  std::uint64_t last = 0;
  for (const CompletionEntry& entry : completed) {
    EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
    first = std::min(first, entry.done_ns);
    last = std::max(last, entry.done_ns);
  }
  return {first, last};
}

TEST(EnginePriority, HighGoesBeforeNormalBeforeLow) {
  EngineHarness sut(kOneByOne, kOneMs, kReaching);
  ChannelHarness& low = sut.attach({"copy"}, {.priority = ChannelPriority::low});
  ChannelHarness& normal = sut.attach({"copy"});
  ChannelHarness& high = sut.attach({"copy"}, {.priority = ChannelPriority::high});
  for (ChannelHarness* producer : {&low, &normal, &high}) {
    submit_many(*producer, 16);
  }
  sut.run();
  EXPECT_EQ(span_of(high, 16), (std::pair{1 * kMs, 16 * kMs}));
  EXPECT_EQ(span_of(normal, 16), (std::pair{17 * kMs, 32 * kMs}));
  EXPECT_EQ(span_of(low, 16), (std::pair{33 * kMs, 48 * kMs}));
}

TEST(EnginePriority, AKernelOfAHigherOneOvertakesThoseThatWaitOnTheDevice) {
  for (const ChannelPriority priority :
       {ChannelPriority::high, ChannelPriority::normal, ChannelPriority::low}) {
    EngineHarness sut(kOneByOne, kOneMs, kReaching);
    ChannelHarness& busy = sut.attach({"copy"});
    ChannelHarness& late = sut.attach({"copy"}, {.priority = priority});
    submit_many(busy, 6);
    sut.step();
    ASSERT_EQ(sut.engine.counters().batches, 6U) << "all of them wait on the device";
    sut.run_until(1 * kMs);
    submit_many(late, 1);
    sut.run();
    // One has run by then, the second one is running.
    const std::uint64_t expected = priority == ChannelPriority::high ? 3 * kMs : 7 * kMs;
    EXPECT_EQ(span_of(late, 1).second, expected);
    expect_copies(busy, 6);
  }
}

TEST(EnginePriority, ALowOneGetsWhatTheOthersLeave) {
  EngineHarness sut(kOneByOne, kOneMs, kReaching);
  ChannelHarness& low = sut.attach({"copy"}, {.priority = ChannelPriority::low});
  ChannelHarness& high = sut.attach({"copy"}, {.priority = ChannelPriority::high});
  submit_many(low, 4);
  sut.run_until(2 * kMs);
  submit_many(high, 3);
  sut.run();
  // Two low ones ran, a third one had begun.
  EXPECT_EQ(span_of(high, 3), (std::pair{4 * kMs, 6 * kMs}));
  EXPECT_EQ(span_of(low, 4), (std::pair{1 * kMs, 7 * kMs}));
}

TEST(EnginePriority, ThoseOfOneShareEquallyAndKnowNothingOfTheOthersTurns) {
  EngineHarness sut(kOneByOne, kOneMs, kReaching);
  std::vector<ChannelHarness*> high;
  for (int i = 0; i < 2; ++i) {
    high.push_back(&sut.attach({"copy"}, {.priority = ChannelPriority::high}));
    submit_many(*high.back(), 8);
  }
  ChannelHarness& normal = sut.attach({"copy"});
  submit_many(normal, 8);
  sut.run();
  const auto first = span_of(*high[0], 8);
  const auto second = span_of(*high[1], 8);
  EXPECT_EQ(std::min(first.first, second.first), 1 * kMs);
  EXPECT_EQ(std::max(first.second, second.second), 16 * kMs);
  EXPECT_GE(std::min(first.second, second.second), 14 * kMs) << "neither was served first";
  EXPECT_EQ(span_of(normal, 8).first, 17 * kMs);
}

TEST(EnginePriority, JobsOfTwoPrioritiesShareNoBatch) {
  EngineHarness sut({}, {}, kReaching);
  ChannelHarness& normal = sut.attach({"copy"});
  ChannelHarness& high = sut.attach({"copy"}, {.priority = ChannelPriority::high});
  submit_many(normal, 4);
  submit_many(high, 4);
  sut.run();
  expect_copies(normal, 4);
  expect_copies(high, 4);
  EXPECT_EQ(sut.engine.counters().batches, 2U);
}

TEST(EnginePriority, AnIsolatedJobHasTheDeviceForItselfAmongAllOfThem) {
  for (const ChannelPriority priority :
       {ChannelPriority::high, ChannelPriority::normal, ChannelPriority::low}) {
    EngineHarness sut(kOneByOne, kOneMs, kReaching);
    std::vector<ChannelHarness*> others;
    for (const ChannelPriority other :
         {ChannelPriority::high, ChannelPriority::normal, ChannelPriority::low}) {
      others.push_back(&sut.attach({"copy"}, {.priority = other}));
      submit_many(*others.back(), 8);
    }
    ChannelHarness& careful = sut.attach({"copy"}, {.priority = priority});
    sut.run_until(1 * kMs);
    careful.submit(1, 0, 256, kSubmissionIsolate);
    while (sut.step() != 0 || sut.device.advance_to_next()) {
      if (careful.is_marked_issued(0)) {
        for (const ChannelHarness* other : others) {
          EXPECT_EQ(testing::marked_count(*other), 0U);
        }
      }
    }
    EXPECT_EQ(careful.collect().size(), 1U);
    for (ChannelHarness* other : others) {
      expect_copies(*other, 8);
    }
  }
}

TEST(EnginePriority, WithoutLanesOfItsOwnAChannelIsServedOnThoseOfTheOthers) {
  EngineHarness sut(kOneByOne, kOneMs, kReaching);
  // The memory of the next lane's table.
  sut.device.fail(Call::allocate, sut.device.calls(Call::allocate) + 1, {DeviceOutcome::failed, 2});
  ChannelHarness& high = sut.attach({"copy"}, {.priority = ChannelPriority::high});
  ChannelHarness& normal = sut.attach({"copy"});
  submit_many(high, 8);
  submit_many(normal, 8);
  sut.run();
  expect_copies(high, 8);
  expect_copies(normal, 8);
  EXPECT_FALSE(sut.engine.has_work_in_flight());
}

TEST(EnginePriority, AChannelOfAnyCanParkAndLeave) {
  EngineHarness sut(kOneByOne, kOneMs, kReaching);
  for (const ChannelPriority priority : {ChannelPriority::high, ChannelPriority::low}) {
    ChannelHarness& producer = sut.attach({"copy"}, {.priority = priority});
    submit_many(producer, 2);
    sut.run();
    expect_copies(producer, 2);
    sut.engine.park(UINT64_MAX);
    submit_many(producer, 2);
    sut.engine.unpark(producer.id(), sut.device.now_ns());
    sut.run();
    expect_copies(producer, 2);
    sut.engine.remove(producer.id());
    sut.step();
  }
  EXPECT_EQ(sut.listener.removed.size(), 2U);
  EXPECT_EQ(sut.step(), 0U);
}

}  // namespace
}  // namespace overlap
