// Who gets how much of the device, in virtual time: the device runs one kernel after the other, so
// that what a channel got is what its kernels took.

#include "daemon/engine/engine.hpp"
#include "daemon/engine/engine_load.hpp"
#include "tests/unit/backlogged_producer.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::BackloggedProducer;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::go_on_until;
using testing::per_byte;
using testing::RecordingListener;
using testing::slow_scale;

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

TEST(EngineFairness, JobsOfAnySizeGetTheSameDeviceTime) {
  // Sizes that share batches with the small ones, and sizes that do not.
  for (const std::uint64_t large_bytes : {std::uint64_t{32} << 10U, std::uint64_t{64} << 10U}) {
    SCOPED_TRACE(large_bytes);
    EngineHarness sut(usual(), {}, kReaching);
    sut.device.set_kernel_cost(per_byte(50));
    BackloggedProducer small(sut, "copy", 256, {.slot_count = 1024});
    BackloggedProducer large(sut, "copy", large_bytes, {.slot_count = 16});
    // What nobody could know at first has been paid for by then.
    go_on_until(sut, {&small, &large}, kSecond / 2);
    static_cast<void>(small.take_done());
    static_cast<void>(large.take_done());
    go_on_until(sut, {&small, &large}, kSecond + kSecond / 2);
    const auto small_ns = static_cast<double>(small.take_done() * 256 * 50);
    const auto large_ns = static_cast<double>(large.take_done() * large_bytes * 50);
    EXPECT_NEAR(small_ns / large_ns, 1, 0.05);
    EXPECT_GT(small_ns + large_ns, 0.95e9) << "and the device was never idle";
  }
}

TEST(EngineFairness, WhoSharesBatchesGetsNoMoreThanWhoDoesNot) {
  EngineHarness sut(usual(), {}, kReaching);
  sut.device.set_kernel_cost(per_byte(50));
  BackloggedProducer small(sut, "copy", 256, {.slot_count = 1024});
  BackloggedProducer apart(sut, "scale:type=u8", 8192, {.slot_count = 64});
  BackloggedProducer large(sut, "copy", 32768, {.slot_count = 16});
  const std::vector<BackloggedProducer*> all = {&small, &apart, &large};
  go_on_until(sut, all, kSecond / 2);
  for (BackloggedProducer* producer : all) {
    static_cast<void>(producer->take_done());
  }
  go_on_until(sut, all, kSecond + kSecond / 2);
  EXPECT_NEAR(static_cast<double>(small.take_done() * 256 * 50), kSecond / 3.0, 0.02e9);
  EXPECT_NEAR(static_cast<double>(apart.take_done() * 8192 * 50), kSecond / 3.0, 0.02e9);
  EXPECT_NEAR(static_cast<double>(large.take_done() * 32768 * 50), kSecond / 3.0, 0.02e9);
}

TEST(EngineFairness, WeightsShareDeviceTimeOut) {
  EngineHarness sut(usual(), {}, kReaching);
  sut.device.set_kernel_cost(per_byte(50));
  BackloggedProducer light(sut, "copy", 4096, {.slot_count = 256, .weight = 1});
  BackloggedProducer heavy(sut, "copy", 1024, {.slot_count = 1024, .weight = 3});
  go_on_until(sut, {&light, &heavy}, kSecond / 2);
  static_cast<void>(light.take_done());
  static_cast<void>(heavy.take_done());
  go_on_until(sut, {&light, &heavy}, kSecond + kSecond / 2);
  const auto light_bytes = static_cast<double>(light.take_done() * 4096);
  const auto heavy_bytes = static_cast<double>(heavy.take_done() * 1024);
  EXPECT_NEAR(heavy_bytes / light_bytes, 3, 0.15);
}

TEST(EngineFairness, ManyEqualChannelsGetTheSame) {
  EngineHarness sut(usual(), {}, kReaching);
  sut.device.set_kernel_cost(per_byte(50));
  std::vector<std::unique_ptr<BackloggedProducer>> owned;
  std::vector<BackloggedProducer*> producers;
  for (int i = 0; i < 20; ++i) {
    owned.push_back(std::make_unique<BackloggedProducer>(sut, "copy", 1024,
                                                         ChannelHarness::Shape{.slot_count = 64}));
    producers.push_back(owned.back().get());
  }
  go_on_until(sut, producers, kSecond);
  for (BackloggedProducer* producer : producers) {
    EXPECT_NEAR(static_cast<double>(producer->take_done()), 1e9 / (20 * 1024 * 50), 64);
  }
}

TEST(EngineFairness, LongKernelsGetNoMoreThanTheirShare) {
  EngineHarness sut(usual(), {}, kReaching);
  sut.device.set_kernel_cost(slow_scale(200ms));
  BackloggedProducer quick(sut, "copy", 4096, {.slot_count = 1024});
  BackloggedProducer slow(sut, "scale:type=u8", 4096, {.slot_count = 8});
  // What nobody could know at first has been paid for by then.
  go_on_until(sut, {&quick, &slow}, 20 * kSecond);
  static_cast<void>(quick.take_done());
  static_cast<void>(slow.take_done());
  go_on_until(sut, {&quick, &slow}, 60 * kSecond);
  const std::uint64_t quick_ns = quick.take_done() * kMs;
  const std::uint64_t slow_ns = slow.take_done() * 200 * kMs;
  EXPECT_NEAR(static_cast<double>(quick_ns), 20e9, 0.6e9);
  EXPECT_NEAR(static_cast<double>(slow_ns), 20e9, 0.6e9);
}

TEST(EngineFairness, AChannelAloneGetsEverything) {
  EngineHarness sut(usual(), {}, kReaching);
  sut.device.set_kernel_cost(per_byte(50));
  sut.attach({"copy"});
  BackloggedProducer only(sut, "copy", 4096, {.slot_count = 64});
  go_on_until(sut, {&only}, kSecond);
  EXPECT_NEAR(static_cast<double>(only.take_done() * 4096 * 50), 1e9, 0.02e9);
}

TEST(EngineFairness, TheCostOfAPipelineIsLearned) {
  VirtualTimeDevice device({}, kReaching);
  device.set_kernel_cost(slow_scale(200ms));
  RecordingListener listener;
  EngineLoad load;
  ChannelHarness producer(1, {"copy", "scale:type=u8"}, {});
  Engine sut(device, usual(), listener, &load);
  sut.add(producer.make_channel(), 0);
  const auto expected_ns = [&](std::uint8_t pipeline) {
    SubmissionEntry entry{};
    entry.pipeline_index = pipeline;
    entry.input_bytes = 4000;
    producer.submit(entry);
    sut.do_work(device.now_ns());
    const std::uint64_t cost_ns = load.longest_batch_ns;
    while (sut.do_work(device.now_ns()) != 0 || device.advance_to_next()) {
    }
    EXPECT_EQ(producer.collect().size(), 1U);
    return static_cast<double>(cost_ns);
  };
  EXPECT_EQ(expected_ns(0), 101) << "by its bytes";
  EXPECT_NEAR(expected_ns(0), 1e6, 2);
  EXPECT_EQ(expected_ns(1), 101) << "another pipeline has its own";
  EXPECT_NEAR(expected_ns(1), 200e6, 2);
  EXPECT_NEAR(expected_ns(0), 1e6, 2);
}

}  // namespace
}  // namespace overlap
