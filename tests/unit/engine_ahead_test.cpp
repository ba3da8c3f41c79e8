// How much device time is issued beyond the running batch, in virtual time.

#include "daemon/engine/engine.hpp"
#include "tests/unit/backlogged_producer.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <cstdint>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::BackloggedProducer;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::expect_copies;
using testing::go_on_until;
using testing::marked_count;
using testing::per_byte;
using testing::slow_scale;
using testing::submit_many;

constexpr std::uint64_t kMs = 1'000'000;
constexpr std::uint64_t kSecond = 1000 * kMs;
constexpr VirtualResources kReaching = {.kernels_reach_pinned = true};

/// As the daemon comes.
EngineSettings usual() {
  EngineSettings settings;
  settings.lane_count = 4;
  settings.depth = 2;
  settings.max_ahead_ns = kMs;
  return settings;
}

/// The longest that a small job of somebody else takes beside a producer of jobs of 5 ms.
std::uint64_t worst_small_job_ns(std::uint64_t max_ahead_ns) {
  constexpr std::uint64_t kBigBytes = 100'000;
  EngineSettings settings = usual();
  settings.max_ahead_ns = max_ahead_ns;
  EngineHarness sut(settings, {}, kReaching);
  sut.device.set_kernel_cost(per_byte(50));
  ChannelHarness& small = sut.attach({"copy"});
  BackloggedProducer greedy(sut, "copy", kBigBytes, {.slot_count = 32});
  go_on_until(sut, {&greedy}, kSecond);
  std::uint64_t worst_ns = 0;
  for (std::uint64_t job = 1; job <= 200; ++job) {
    // When another big one has just begun, and all that may be ahead of it has been issued.
    go_on_until(sut, {&greedy}, sut.device.now_ns() + 20 * kMs);
    do {
      greedy.refill();
    } while (sut.step() != 0);
    const std::uint64_t submitted_ns = sut.device.now_ns();
    small.submit_filled(job, 0, 200);
    while (small.completions().available() == 0) {
      greedy.refill();
      EXPECT_TRUE(sut.step() != 0 || sut.device.advance_to_next());
    }
    worst_ns = std::max(worst_ns, small.collect().at(0).done_ns - submitted_ns);
  }
  return worst_ns;
}

TEST(EngineAheadOfBigJobs, ASmallJobWaitsForTheRunningBigOneAndWhatMayBeIssuedAhead) {
  constexpr std::uint64_t kBigNs = 5 * kMs;
  constexpr std::uint64_t kSmallNs = 200 * 50;
  // One more, which was issued while less than the limit was ahead, however long it is.
  EXPECT_LE(worst_small_job_ns(kMs), kBigNs + kBigNs + kSmallNs);
  // Batches of three by then.
  EXPECT_LE(worst_small_job_ns(12 * kMs), 3 * kBigNs + 3 * kBigNs + kSmallNs);
  // Without the limit it is behind all that the lanes hold.
  EXPECT_GT(worst_small_job_ns(UINT64_MAX), 6 * kBigNs);
}

/// An engine that knows that a `copy` of 4096 bytes takes 1 ms.
class EngineAhead : public ::testing::Test {
 protected:
  static EngineSettings settings() {
    EngineSettings made = usual();
    made.max_batch_jobs = 1;
    made.max_ahead_ns = 2'500'000;
    return made;
  }
  EngineAhead() : first(sut.attach({"copy"})) {
    sut.device.set_kernel_cost(slow_scale(1ms));
    submit_many(first, 1, 4096);
    sut.run();
    expect_copies(first, 1);
  }

  EngineHarness sut{settings(), {}, kReaching};
  ChannelHarness& first;
};

TEST_F(EngineAhead, IsNotBoundedForAChannelAlone) {
  submit_many(first, 16, 4096);
  sut.step();
  EXPECT_EQ(marked_count(first), 8U) << "all that the lanes hold";
  sut.run();
  expect_copies(first, 16);
}

TEST_F(EngineAhead, IsBoundedAsSoonAsThereIsAnother) {
  ChannelHarness& second = sut.attach({"copy"});
  submit_many(first, 16, 4096);
  submit_many(second, 16, 4096);
  std::uint32_t most = 0;
  do {
    most = std::max(most, marked_count(first) + marked_count(second));
  } while (sut.step() != 0 || sut.device.advance_to_next());
  // The running one, and beyond it 1, 2 and 3 ms: there the limit of 2.5 ms was passed.
  EXPECT_EQ(most, 4U);
  expect_copies(first, 16);
  expect_copies(second, 16);
}

TEST_F(EngineAhead, IsNotBoundedByOneWhoIsParked) {
  sut.attach({"copy"});
  submit_many(first, 1, 4096);
  sut.step();
  sut.engine.park(UINT64_MAX);
  ASSERT_EQ(sut.listener.parked.size(), 1U);
  submit_many(first, 15, 4096, 1);
  sut.step();
  EXPECT_EQ(marked_count(first), 8U);
  sut.run();
  expect_copies(first, 16);
}

TEST(EngineAheadOfOthers, ABatchGrowsNoLongerThanMayBeIssuedAhead) {
  EngineSettings settings = usual();
  settings.lane_count = 1;
  settings.depth = 1;
  settings.max_ahead_ns = 2'500'000;
  EngineHarness sut(settings, {}, kReaching);
  sut.device.set_kernel_cost(slow_scale(1ms));
  ChannelHarness& producer = sut.attach({"copy"});
  submit_many(producer, 1, 4096);
  sut.run();
  expect_copies(producer, 1);
  submit_many(producer, 16, 4096);
  sut.step();
  EXPECT_EQ(marked_count(producer), 3U);
  sut.run();
  expect_copies(producer, 16);
  // Five of three jobs, one of the last.
  EXPECT_EQ(sut.engine.counters().batches, 1U + 6U);
}

}  // namespace
}  // namespace overlap
