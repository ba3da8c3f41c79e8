// Who gets how much of the device, in virtual time: the device runs one kernel after the other, so
// that what a channel got is what its kernels took.

#include "daemon/engine/engine.hpp"
#include "daemon/engine/engine_load.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/copied_jobs.hpp"
#include "tests/unit/engine_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::ChannelHarness;
using testing::EngineHarness;
using testing::expect_copies;
using testing::marked_count;
using testing::RecordingListener;
using testing::submit_many;

constexpr std::uint64_t kUs = 1000;
constexpr std::uint64_t kMs = 1000 * kUs;
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

std::uint64_t input_bytes(const overlap_batch& batch) {
  std::uint64_t sum = 0;
  const auto* const items = reinterpret_cast<const std::byte*>(batch.items);
  for (std::uint32_t i = 0; i < batch.item_count; ++i) {
    sum += reinterpret_cast<const overlap_batch_item*>(items + i * batch.item_stride_bytes)
               ->input_bytes;
  }
  return sum;
}

/// A kernel that takes so long for each byte.
VirtualTimeDevice::KernelCost per_byte(std::uint64_t cost_ns) {
  return [=](const Kernel& /*kernel*/, const overlap_batch& batch) {
    return std::chrono::nanoseconds(cost_ns * input_bytes(batch));
  };
}

/// `scale` takes so long for each job, any other kernel 1 ms.
VirtualTimeDevice::KernelCost slow_scale(std::chrono::nanoseconds scale) {
  return [=](const Kernel& kernel, const overlap_batch& batch) {
    return (kernel.name() == "scale" ? scale : 1ms) * batch.item_count;
  };
}

/// A producer that submits a slot again as soon as it has its answer.
class Backlogged {
 public:
  Backlogged(EngineHarness& engine, const std::string& pipeline, std::uint64_t job_bytes,
             ChannelHarness::Shape shape)
      : job_bytes_(job_bytes), channel_(engine.attach({pipeline}, sized(shape, job_bytes))) {
    for (std::uint32_t slot = 0; slot < shape.slot_count; ++slot) {
      channel_.submit(slot, slot, job_bytes_);
    }
  }

  void refill() {
    for (const CompletionEntry& entry : channel_.collect()) {
      ASSERT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      ++done_;
      channel_.submit(entry.job_id, entry.slot, job_bytes_);
    }
  }
  /// Jobs that have ended since the last call.
  [[nodiscard]] std::uint64_t take_done() { return std::exchange(done_, 0); }

 private:
  static ChannelHarness::Shape sized(ChannelHarness::Shape shape, std::uint64_t bytes) {
    shape.input_bytes = bytes;
    shape.output_bytes = bytes;
    return shape;
  }

  std::uint64_t job_bytes_;
  std::uint64_t done_ = 0;
  ChannelHarness& channel_;
};

/// Lets everybody go on until a moment of virtual time.
void go_on_until(EngineHarness& engine, const std::vector<Backlogged*>& producers,
                 std::uint64_t time_ns) {
  while (engine.device.now_ns() < time_ns) {
    for (Backlogged* producer : producers) {
      producer->refill();
    }
    ASSERT_TRUE(engine.step() != 0 || engine.device.advance_to_next()) << "nothing goes on";
  }
}

TEST(EngineFairness, JobsOfAnySizeGetTheSameDeviceTime) {
  // Sizes that share batches with the small ones, and sizes that do not.
  for (const std::uint64_t large_bytes : {std::uint64_t{32} << 10U, std::uint64_t{64} << 10U}) {
    SCOPED_TRACE(large_bytes);
    EngineHarness sut(usual(), {}, kReaching);
    sut.device.set_kernel_cost(per_byte(50));
    Backlogged small(sut, "copy", 256, {.slot_count = 1024});
    Backlogged large(sut, "copy", large_bytes, {.slot_count = 16});
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
  Backlogged small(sut, "copy", 256, {.slot_count = 1024});
  Backlogged apart(sut, "scale:type=u8", 8192, {.slot_count = 64});
  Backlogged large(sut, "copy", 32768, {.slot_count = 16});
  const std::vector<Backlogged*> all = {&small, &apart, &large};
  go_on_until(sut, all, kSecond / 2);
  for (Backlogged* producer : all) {
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
  Backlogged light(sut, "copy", 4096, {.slot_count = 256, .weight = 1});
  Backlogged heavy(sut, "copy", 1024, {.slot_count = 1024, .weight = 3});
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
  std::vector<std::unique_ptr<Backlogged>> owned;
  std::vector<Backlogged*> producers;
  for (int i = 0; i < 20; ++i) {
    owned.push_back(
        std::make_unique<Backlogged>(sut, "copy", 1024, ChannelHarness::Shape{.slot_count = 64}));
    producers.push_back(owned.back().get());
  }
  go_on_until(sut, producers, kSecond);
  for (Backlogged* producer : producers) {
    EXPECT_NEAR(static_cast<double>(producer->take_done()), 1e9 / (20 * 1024 * 50), 64);
  }
}

TEST(EngineFairness, LongKernelsGetNoMoreThanTheirShare) {
  EngineHarness sut(usual(), {}, kReaching);
  sut.device.set_kernel_cost(slow_scale(200ms));
  Backlogged quick(sut, "copy", 4096, {.slot_count = 1024});
  Backlogged slow(sut, "scale:type=u8", 4096, {.slot_count = 8});
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
  Backlogged only(sut, "copy", 4096, {.slot_count = 64});
  go_on_until(sut, {&only}, kSecond);
  EXPECT_NEAR(static_cast<double>(only.take_done() * 4096 * 50), 1e9, 0.02e9);
}

/// The longest that a small job of somebody else takes beside a producer of jobs of 5 ms.
std::uint64_t worst_small_job_ns(std::uint64_t max_ahead_ns) {
  constexpr std::uint64_t kBigBytes = 100'000;
  EngineSettings settings = usual();
  settings.max_ahead_ns = max_ahead_ns;
  EngineHarness sut(settings, {}, kReaching);
  sut.device.set_kernel_cost(per_byte(50));
  ChannelHarness& small = sut.attach({"copy"});
  Backlogged greedy(sut, "copy", kBigBytes, {.slot_count = 32});
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

TEST(EngineFairness, ASmallJobWaitsForTheRunningBigOneAndWhatMayBeIssuedAhead) {
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

TEST(EngineFairness, ABatchGrowsNoLongerThanMayBeIssuedAhead) {
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
