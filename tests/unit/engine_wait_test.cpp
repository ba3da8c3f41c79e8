// How the engine's thread waits for work: without end, for a while, or asleep at once.

#include "daemon/device/host_device.hpp"
#include "daemon/engine/engine_thread.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/forwarding_device.hpp"
#include "tests/unit/patience.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::ChannelHarness;
using testing::eventually;
using testing::ForwardingDevice;
using testing::ScriptedKernel;

/// Nobody watches parked doorbells here, so nobody is parked.
constexpr IdleSettings kSpinning = {.spin = std::nullopt, .park_after = 1h};
constexpr IdleSettings kSleepy = {.spin = 0ns, .park_after = 1h};
constexpr IdleSettings kAdaptive = {.spin = 1h, .park_after = 1h};
constexpr ChannelHarness::Shape kSmall = {.slot_count = 4, .input_bytes = 256, .output_bytes = 256};

/// Read from another thread than the engine's.
class QuietListener final : public EngineListener {
 public:
  void on_violation(ChannelId /*channel*/, const std::string& why) override {
    ADD_FAILURE() << why;
  }
  void on_parked(ChannelId /*channel*/, int /*doorbell*/) override { ++parked; }
  void on_unparked(ChannelId /*channel*/, int /*doorbell*/) override {}
  void on_tables_copied(ChannelId /*channel*/) override {}
  void on_removed(ChannelId /*channel*/) override { ++removed; }
  void on_drained() override {}
  void on_device_lost(int code) override { ADD_FAILURE() << "lost: " << code; }

  std::atomic<int> parked{0};
  std::atomic<int> removed{0};
};

/// Has one job after the other done, looking for the answers without waiting for them.
class PollingProducer {
 public:
  explicit PollingProducer(ChannelHarness& channel) : channel_(channel) {}

  /// @return whether the daemon had to be rung
  bool submit(std::uint32_t slot = 0) {
    channel_.submit_filled(++last_id_, slot, 256);
    const bool sleeps = channel_.submissions().publish();
    if (sleeps) {
      ring(channel_.doorbell());
    }
    return sleeps;
  }
  /// Waits for so many answers.
  void expect_answers(std::uint32_t count) {
    ASSERT_TRUE(eventually([&] { return channel_.completions().available() >= count; }));
    last_ = channel_.collect();
    ASSERT_EQ(last_.size(), count);
    for (const CompletionEntry& entry : last_) {
      EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      EXPECT_TRUE(channel_.output_is_copy(entry.job_id, entry.slot, 256));
    }
  }
  [[nodiscard]] const std::vector<CompletionEntry>& last() const noexcept { return last_; }

 private:
  ChannelHarness& channel_;
  std::uint64_t last_id_ = 0;
  std::vector<CompletionEntry> last_;
};

bool is_asleep(const ChannelHarness& channel) {
  return channel.view().daemon_words().asleep.load() != 0;
}

class EngineWaitWith : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  HostDevice device{GetParam()};
  QuietListener listener;
  ChannelHarness channel{1, {"copy"}, kSmall};
  PollingProducer producer{channel};
};

TEST_P(EngineWaitWith, SpinningItNeverSleepsWhileAChannelIsPolled) {
  EngineThread sut(device, {}, kSpinning, listener);
  sut.add(channel.make_channel());
  producer.submit();
  ASSERT_NO_FATAL_FAILURE(producer.expect_answers(1));
  // Until the channel came it may have slept.
  const std::uint64_t before = sut.sleep_count();
  for (int job = 0; job < 200; ++job) {
    ASSERT_FALSE(producer.submit()) << "rung in round " << job;
    ASSERT_NO_FATAL_FAILURE(producer.expect_answers(1));
    ASSERT_FALSE(is_asleep(channel));
  }
  EXPECT_EQ(sut.sleep_count(), before);
}

TEST_P(EngineWaitWith, AdaptiveItDoesNotSleepBeforeItsTime) {
  EngineThread sut(device, {}, kAdaptive, listener);
  sut.add(channel.make_channel());
  for (int job = 0; job < 100; ++job) {
    producer.submit();
    ASSERT_NO_FATAL_FAILURE(producer.expect_answers(1));
  }
  EXPECT_EQ(sut.sleep_count(), 0U);
}

TEST_P(EngineWaitWith, SleepyItSleepsAsSoonAsThereIsNothingToDo) {
  EngineThread sut(device, {}, kSleepy, listener);
  sut.add(channel.make_channel());
  const std::uint64_t before = sut.sleep_count();
  // A job may come just when it was about to sleep, so not every one ends a sleep.
  for (int job = 0; job < 20 || sut.sleep_count() < before + 20; ++job) {
    ASSERT_LT(job, 10'000);
    ASSERT_TRUE(eventually([&] { return is_asleep(channel); }));
    producer.submit();
    ASSERT_NO_FATAL_FAILURE(producer.expect_answers(1));
  }
}

TEST_P(EngineWaitWith, AHeldJobIsIssuedInTimeAlthoughNobodyRings) {
  constexpr std::uint64_t kWaitNs = 2'000'000;
  for (const IdleSettings& idle : {kSleepy, kSpinning, kAdaptive}) {
    ChannelHarness own(1, {"copy"}, kSmall);
    PollingProducer patient(own);
    EngineThread sut(device, {.max_batch_wait_ns = kWaitNs}, idle, listener);
    sut.add(own.make_channel());
    for (int job = 0; job < 10; ++job) {
      patient.submit();
      ASSERT_NO_FATAL_FAILURE(patient.expect_answers(1));
      EXPECT_GE(patient.last()[0].issued_ns, patient.last()[0].taken_ns + kWaitNs);
    }
    EXPECT_EQ(sut.counters().batches.load(), 10U);
    sut.remove(own.id());
    ASSERT_TRUE(eventually([&] { return listener.removed.exchange(0) == 1; }));
  }
}

TEST_P(EngineWaitWith, AHeldJobIsIssuedWhenItsBatchIsFull) {
  constexpr std::uint64_t kHourNs = 3'600'000'000'000;
  EngineThread sut(device, {.max_batch_jobs = 2, .max_batch_wait_ns = kHourNs}, kSleepy, listener);
  sut.add(channel.make_channel());
  for (std::uint64_t batch = 1; batch <= 20; ++batch) {
    producer.submit(0);
    // Taken and held, it sleeps; the second one wakes it.
    ASSERT_TRUE(eventually([&] { return is_asleep(channel); }));
    EXPECT_EQ(sut.counters().batches.load(), batch - 1);
    producer.submit(1);
    ASSERT_NO_FATAL_FAILURE(producer.expect_answers(2));
  }
  EXPECT_EQ(sut.counters().batches.load(), 20U);
}

INSTANTIATE_TEST_SUITE_P(Workers, EngineWaitWith, ::testing::Values(0U, 1U));

/// Knows how often an event was asked after.
class QueryCounter final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  EventQuery query(EventId event) override {
    ++queries;
    return ForwardingDevice::query(event);
  }
  std::atomic<std::uint64_t> queries{0};
};

TEST(EngineWait, SpinningItKeepsAskingAfterALongKernel) {
  std::atomic<bool> open{false};
  KernelRegistry kernels;
  kernels.add(std::make_unique<ScriptedKernel>(ScriptedKernel::Script{
      .name = "gated", .run = [&](const overlap_batch&) { open.wait(false); }}));
  HostDevice host(1);
  QueryCounter device(host);
  QuietListener listener;
  ChannelHarness channel(1, {"gated"}, kSmall, &kernels);
  EngineThread sut(device, {}, kSpinning, listener);
  sut.add(channel.make_channel());
  channel.submit(1, 0, 256);
  ring(channel.doorbell());
  ASSERT_TRUE(eventually([&] { return device.queries > 0; }));
  const std::uint64_t before = sut.sleep_count();
  const std::uint64_t asked = device.queries;
  EXPECT_TRUE(eventually([&] { return device.queries > asked + 1000; }));
  EXPECT_EQ(sut.sleep_count(), before);
  EXPECT_EQ(channel.completions().available(), 0U) << "the kernel runs all the while";
  open = true;
  open.notify_all();
  EXPECT_TRUE(eventually([&] { return channel.completions().available() == 1; }));
}

TEST(EngineWait, SpinningItSleepsOnceEverybodyIsParked) {
  HostDevice device(0);
  QuietListener listener;
  ChannelHarness channel(1, {"copy"}, kSmall);
  EngineThread sut(device, {}, {.spin = std::nullopt, .park_after = 0ns}, listener);
  sut.add(channel.make_channel());
  ASSERT_TRUE(eventually([&] { return listener.parked == 1; }));
  const std::uint64_t before = sut.sleep_count();
  // A sleep is counted when it ends: mail ends it.
  EXPECT_TRUE(eventually([&] {
    sut.remove(ChannelId{99});
    return sut.sleep_count() > before + 3;
  }));
}

}  // namespace
}  // namespace overlap
