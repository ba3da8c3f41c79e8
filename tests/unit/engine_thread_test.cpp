#include "daemon/engine/engine_thread.hpp"

#include "daemon/device/host_device.hpp"
#include "daemon/device/virtual_time_device.hpp"
#include "tests/unit/channel_harness.hpp"
#include "tests/unit/forwarding_device.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <sys/epoll.h>
#include <array>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <stdexcept>
#include <thread>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::ChannelHarness;
using testing::ForwardingDevice;
using testing::ScriptedKernel;

/// As it comes, but for parking: nobody watches the doorbells in most of these tests.
constexpr IdleSettings kNormal = {.park_after = 1h};
/// Never parks, and sleeps as soon as there is nothing to do.
constexpr IdleSettings kSleepy = {.spin = 0ns, .park_after = 1h};
/// Parks whatever is quiet at once.
constexpr IdleSettings kParking = {.spin = 0ns, .park_after = 0ns};

/// What the control thread does for an engine: watches the doorbells of parked channels.
class DoorbellWatcher final : public EngineListener {
 public:
  DoorbellWatcher() : epoll_(::epoll_create1(EPOLL_CLOEXEC)), stop_(make_eventfd()) {
    watch(stop_.get(), UINT64_MAX);
  }
  ~DoorbellWatcher() override { stop(); }

  /// @pre `stop` is called before the engine goes
  void start(EngineThread& engine) {
    thread_ = std::thread([this, &engine] {
      while (true) {
        epoll_event event{};
        if (::epoll_wait(epoll_.get(), &event, 1, -1) != 1) {
          continue;
        }
        if (event.data.u64 == UINT64_MAX) {
          return;
        }
        engine.unpark(ChannelId{event.data.u64});
      }
    });
  }
  void stop() {
    if (thread_.joinable()) {
      ring(stop_.get());
      thread_.join();
    }
  }

  void on_violation(ChannelId /*channel*/, const std::string& /*why*/) override { count(violated); }
  void on_parked(ChannelId channel, int doorbell) override {
    watch(doorbell, static_cast<std::uint64_t>(channel));
    count(parked);
  }
  void on_unparked(ChannelId /*channel*/, int doorbell) override {
    EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, doorbell, nullptr), 0);
    count(unparked);
  }
  void on_tables_copied(ChannelId /*channel*/) override {}
  void on_removed(ChannelId /*channel*/) override { count(removed); }
  void on_drained() override { count(drained); }
  void on_device_lost(int /*code*/) override { count(lost); }

  std::atomic<std::uint32_t> violated{0};
  std::atomic<std::uint32_t> parked{0};
  std::atomic<std::uint32_t> unparked{0};
  std::atomic<std::uint32_t> removed{0};
  std::atomic<std::uint32_t> drained{0};
  std::atomic<std::uint32_t> lost{0};

 private:
  void watch(int fd, std::uint64_t what) {
    epoll_event event{};
    event.events = EPOLLIN | EPOLLET;
    event.data.u64 = what;
    EXPECT_EQ(::epoll_ctl(epoll_.get(), EPOLL_CTL_ADD, fd, &event), 0);
  }
  static void count(std::atomic<std::uint32_t>& counter) {
    counter.fetch_add(1);
    counter.notify_all();
  }

  FileDescriptor epoll_;
  FileDescriptor stop_;
  std::thread thread_;
};

std::uint64_t mixed(std::uint64_t value) noexcept {
  value = (value ^ (value >> 30U)) * 0xbf58476d1ce4e5b9ULL;
  value = (value ^ (value >> 27U)) * 0x94d049bb133111ebULL;
  return value ^ (value >> 31U);
}

/// The producer's library in small: fills, submits, sleeps, checks. Payloads say themselves what they
/// must be. Restricted: one thread.
class SmallProducer {
 public:
  SmallProducer(ChannelHarness& channel, WaitKind sleep) : channel_(channel), sleep_(sleep) {
    for (std::uint32_t slot = 0; slot < channel.view().geometry().slot_count; ++slot) {
      free_.push_back(slot);
    }
  }

  /// Runs so many jobs through the channel, up to `window` of them at once.
  void run(std::uint64_t job_count, std::size_t window) {
    const std::uint64_t last = next_id_ + job_count;
    while (next_id_ < last || !under_way_.empty()) {
      bool submitted = false;
      while (next_id_ < last && under_way_.size() < window && !free_.empty()) {
        write_next();
        submitted = true;
      }
      if (submitted) {
        publish();
      }
      if (!collect()) {
        sleep();
      }
    }
  }

  /// Submits what fits and waits for nothing.
  void flood() {
    while (!free_.empty()) {
      write_next();
    }
    publish();
    collect();
  }

  /// How often the daemon was awake, so that it was not rung.
  [[nodiscard]] std::uint64_t quiet_count() const noexcept { return quiet_count_; }

 private:
  static std::size_t word_count(std::uint64_t job_id) noexcept { return 1 + mixed(job_id) % 32; }

  void write_next() {
    SubmissionEntry entry{};
    entry.job_id = next_id_++;
    entry.slot = free_.back();
    entry.input_bytes = 8 * word_count(entry.job_id);
    std::byte* const input = channel_.view().input(entry.slot).data();
    for (std::size_t i = 0; i < word_count(entry.job_id); ++i) {
      const std::uint64_t word = mixed(entry.job_id * 100 + i);
      std::memcpy(input + 8 * i, &word, 8);
    }
    ASSERT_TRUE(channel_.submissions().write(entry));
    free_.pop_back();
    under_way_.emplace(entry.job_id, entry.slot);
  }

  void publish() {
    if (channel_.submissions().publish()) {
      ring(channel_.doorbell());
    } else {
      ++quiet_count_;
    }
  }

  bool collect() {
    CompletionReader& completions = channel_.completions();
    const std::uint32_t available = completions.available();
    for (std::uint32_t i = 0; i < available; ++i) {
      const CompletionEntry answer = completions.take();
      const auto found = under_way_.find(answer.job_id);
      if (found == under_way_.end() || found->second != answer.slot) {
        ADD_FAILURE() << "answered twice, or never asked: " << answer.job_id;
        continue;
      }
      check(answer);
      free_.push_back(answer.slot);
      under_way_.erase(found);
    }
    completions.release();
    return available != 0;
  }

  void check(const CompletionEntry& answer) const {
    EXPECT_EQ(static_cast<JobStatus>(answer.status), JobStatus::ok);
    EXPECT_EQ(answer.output_bytes, 8 * word_count(answer.job_id));
    const std::byte* const output = channel_.view().output(answer.slot).data();
    for (std::size_t i = 0; i < word_count(answer.job_id); ++i) {
      std::uint64_t word = 0;
      std::memcpy(&word, output + 8 * i, 8);
      EXPECT_EQ(word, mixed(answer.job_id * 100 + i)) << "job " << answer.job_id;
    }
  }

  void sleep() {
    CompletionReader& completions = channel_.completions();
    if (!completions.start_waiting(sleep_)) {
      if (sleep_ == WaitKind::semaphore) {
        channel_.view().semaphore().wait();
      } else if (sleep_ == WaitKind::descriptor) {
        pollfd waiting{channel_.wake(), POLLIN, 0};
        EXPECT_EQ(::poll(&waiting, 1, -1), 1);
        silence(channel_.wake());
      } else {
        std::this_thread::yield();
      }
    }
    completions.stop_waiting();
  }

  ChannelHarness& channel_;
  WaitKind sleep_;
  std::vector<std::uint32_t> free_;
  std::map<std::uint64_t, std::uint32_t> under_way_;
  std::uint64_t next_id_ = 1;
  std::uint64_t quiet_count_ = 0;
};

void await(const std::atomic<std::uint32_t>& counter, std::uint32_t wanted) {
  for (std::uint32_t seen = counter; seen < wanted; seen = counter) {
    counter.wait(seen);
  }
}

class EngineThreadWith : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  HostDevice device{GetParam()};
  DoorbellWatcher control;
};

TEST_P(EngineThreadWith, RunsAHundredThousandJobs) {
  ChannelHarness channel(1, {"copy"}, {.slot_count = 64, .input_bytes = 256, .output_bytes = 256});
  EngineThread sut(device, {.max_batch_jobs = 16}, kNormal, control);
  sut.add(channel.make_channel());
  std::thread([&] { SmallProducer(channel, WaitKind::semaphore).run(100'000, 64); }).join();
  sut.drain();
  await(control.drained, 1);
  EXPECT_EQ(sut.counters().jobs_done.load(), 100'000U);
  EXPECT_EQ(sut.counters().jobs_failed.load(), 0U);
  EXPECT_EQ(control.violated.load(), 0U);
}

TEST_P(EngineThreadWith, LosesNoWakeUpOfASleepingProducer) {
  for (const WaitKind sleep : {WaitKind::semaphore, WaitKind::descriptor}) {
    ChannelHarness channel(1, {"copy"}, {.slot_count = 4, .input_bytes = 256, .output_bytes = 256});
    EngineThread sut(device, {}, kSleepy, control);
    sut.add(channel.make_channel());
    // One job at a time: both sides go to sleep in every round.
    std::thread([&] { SmallProducer(channel, sleep).run(1000, 1); }).join();
    EXPECT_GT(sut.sleep_count(), 0U);
    EXPECT_GT(sut.counters().producer_wakes.load(), 0U);
  }
}

TEST_P(EngineThreadWith, ParksAndUnparksAsProducersPause) {
  ChannelHarness a(1, {"copy"}, {.slot_count = 4, .input_bytes = 256, .output_bytes = 256});
  ChannelHarness b(2, {"copy"}, {.slot_count = 4, .input_bytes = 256, .output_bytes = 256});
  EngineThread sut(device, {}, kParking, control);
  control.start(sut);
  sut.add(a.make_channel());
  sut.add(b.make_channel());
  await(control.parked, 2);
  std::thread first([&] { SmallProducer(a, WaitKind::semaphore).run(300, 1); });
  std::thread second([&] { SmallProducer(b, WaitKind::descriptor).run(300, 2); });
  first.join();
  second.join();
  EXPECT_GE(control.unparked.load(), 2U);
  control.stop();
}

/// In how many of the process's epoll sets a descriptor is.
int watcher_count(int fd) {
  int count = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc/self/fdinfo")) {
    std::ifstream info(entry.path());
    std::string word;
    int number = -1;
    while (info >> word) {
      if (word == "tfd:" && info >> number && number == fd) {
        ++count;
      }
    }
  }
  return count;
}

TEST_P(EngineThreadWith, ADoorbellIsAlwaysWatchedByOneOfTheTwo) {
  ChannelHarness channel(1, {"copy"}, {.slot_count = 4, .input_bytes = 256, .output_bytes = 256});
  EngineThread sut(device, {}, {.spin = 0ns, .park_after = 300ms}, control);
  control.start(sut);
  sut.add(channel.make_channel());
  SmallProducer producer(channel, WaitKind::semaphore);
  producer.run(1, 1);
  EXPECT_EQ(watcher_count(channel.doorbell()), 1) << "attached";
  await(control.parked, 1);
  EXPECT_EQ(watcher_count(channel.doorbell()), 1) << "parked";
  producer.run(1, 1);
  EXPECT_EQ(watcher_count(channel.doorbell()), 1) << "unparked";
  EXPECT_EQ(control.unparked.load(), 1U);
  control.stop();
}

TEST_P(EngineThreadWith, ServesManyProducersAtOnce) {
  std::vector<std::unique_ptr<ChannelHarness>> channels;
  EngineThread sut(device, {.max_batch_jobs = 4}, {.spin = 1us, .park_after = 50us}, control);
  control.start(sut);
  std::vector<std::thread> producers;
  for (std::uint64_t id = 1; id <= 6; ++id) {
    channels.push_back(std::make_unique<ChannelHarness>(
        id, std::vector<std::string>{"copy"},
        ChannelHarness::Shape{.slot_count = 8, .input_bytes = 256, .output_bytes = 256}));
    sut.add(channels.back()->make_channel());
    producers.emplace_back([&channel = *channels.back(), id] {
      const WaitKind sleep = static_cast<WaitKind>(id % 3);
      SmallProducer(channel, sleep).run(1000, 1 + id);
    });
  }
  for (std::thread& producer : producers) {
    producer.join();
  }
  EXPECT_EQ(control.violated.load(), 0U);
  control.stop();
}

TEST_P(EngineThreadWith, AChannelThatLeavesUnderLoadLeavesTheOthersAlone) {
  ChannelHarness stays(1000, {"copy"}, {.slot_count = 8, .input_bytes = 256, .output_bytes = 256});
  EngineThread sut(device, {.max_batch_jobs = 4}, kNormal, control);
  sut.add(stays.make_channel());
  std::thread steady([&] { SmallProducer(stays, WaitKind::semaphore).run(3000, 8); });
  for (std::uint32_t round = 1; round <= 50; ++round) {
    ChannelHarness leaves(round, {"copy"},
                          {.slot_count = 16, .input_bytes = 256, .output_bytes = 256});
    sut.add(leaves.make_channel());
    SmallProducer producer(leaves, WaitKind::none);
    producer.flood();
    sut.remove(leaves.id());
    producer.flood();
    await(control.removed, round);
    sut.forget_doorbell(leaves.doorbell());
    for (std::uint32_t slot = 0; slot < 16; ++slot) {
      EXPECT_FALSE(leaves.is_marked_issued(slot));
    }
    // The memory goes here: whoever still touched it would crash.
  }
  steady.join();
}

TEST_P(EngineThreadWith, GoesUnderLoadAndTouchesNothingAfterwards) {
  for (int round = 0; round < 50; ++round) {
    ChannelHarness channel(1, {"copy|copy"},
                           {.slot_count = 32, .input_bytes = 256, .output_bytes = 256});
    std::atomic<bool> going_on{true};
    auto sut = std::make_unique<EngineThread>(device, EngineSettings{.max_batch_jobs = 4}, kNormal,
                                              control);
    sut->add(channel.make_channel());
    std::thread producer([&] {
      SmallProducer small(channel, WaitKind::none);
      do {
        small.flood();
      } while (going_on);
    });
    while (sut->counters().jobs_done.load() == 0) {
      std::this_thread::yield();
    }
    sut.reset();
    for (std::uint32_t slot = 0; slot < 32; ++slot) {
      EXPECT_FALSE(channel.is_marked_issued(slot));
    }
    going_on = false;
    producer.join();
  }
}

TEST_P(EngineThreadWith, DrainsWhatWasSubmittedBefore) {
  ChannelHarness channel(1, {"copy"}, {.slot_count = 8, .input_bytes = 256, .output_bytes = 256});
  EngineThread sut(device, {}, kSleepy, control);
  sut.add(channel.make_channel());
  SmallProducer(channel, WaitKind::semaphore).run(100, 8);
  sut.drain();
  await(control.drained, 1);
  EXPECT_EQ(sut.counters().jobs_done.load(), 100U);
  // Taken by nobody any more.
  channel.submit(1, 0, 8);
  ring(channel.doorbell());
  sut.remove(channel.id());
  await(control.removed, 1);
  EXPECT_EQ(channel.completions().available(), 0U);
  EXPECT_EQ(control.drained.load(), 1U);
}

TEST_P(EngineThreadWith, TellsOfAViolation) {
  ChannelHarness channel(1, {"copy"}, {});
  EngineThread sut(device, {}, kSleepy, control);
  sut.add(channel.make_channel());
  channel.submit(1, 99, 8);
  ring(channel.doorbell());
  await(control.violated, 1);
  sut.remove(channel.id());
  await(control.removed, 1);
}

INSTANTIATE_TEST_SUITE_P(Workers, EngineThreadWith, ::testing::Values(0U, 2U));

TEST(EngineThread, GoesAtOnceWhenNothingWasAttached) {
  HostDevice device(1);
  DoorbellWatcher control;
  for (const IdleSettings& idle : {kNormal, kSleepy, kParking}) {
    const EngineThread sut(device, {}, idle, control);
  }
}

TEST(EngineThread, AnAwakeEngineIsNotRung) {
  HostDevice device(0);
  DoorbellWatcher control;
  ChannelHarness channel(1, {"copy"}, {.slot_count = 4, .input_bytes = 256, .output_bytes = 256});
  EngineThread sut(device, {}, {.spin = 5ms, .park_after = 1h}, control);
  sut.add(channel.make_channel());
  SmallProducer producer(channel, WaitKind::semaphore);
  producer.run(1, 1);
  while (channel.view().daemon_words().asleep.load() == 0) {
    std::this_thread::yield();
  }
  // Having slept once, it is awake again.
  const std::uint64_t before = producer.quiet_count();
  producer.run(500, 1);
  EXPECT_GT(producer.quiet_count(), before);
}

/// A device that is not there after all.
class StreamlessDevice final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  StreamId create_stream(StreamPriority /*priority*/) override {
    throw std::runtime_error("no stream for you");
  }
};

TEST(EngineThread, ThrowsWhatTheEnginesConstructorThrows) {
  HostDevice host(1);
  StreamlessDevice device(host);
  DoorbellWatcher control;
  try {
    const EngineThread sut(device, {}, {}, control);
    FAIL() << "started without a stream";
  } catch (const std::runtime_error& error) {
    EXPECT_STREQ(error.what(), "no stream for you");
  }
}

/// A kernel that ends when the test lets it, and knows how often it ran.
class GatedRegistry {
 public:
  GatedRegistry() {
    kernels_.add(std::make_unique<ScriptedKernel>(
        ScriptedKernel::Script{.name = "gated", .run = [this](const overlap_batch&) {
                                 run_count.fetch_add(1);
                                 run_count.notify_all();
                                 open.wait(false);
                                 // Long enough that a whole queue of them is a while.
                                 for (int i = 0; i < 50; ++i) {
                                   std::this_thread::yield();
                                 }
                               }}));
  }
  [[nodiscard]] const KernelRegistry& kernels() const noexcept { return kernels_; }
  void let_go() {
    open = true;
    open.notify_all();
  }

  std::atomic<bool> open{false};
  std::atomic<std::uint32_t> run_count{0};

 private:
  KernelRegistry kernels_;
};

/// Knows how often somebody asked to be rung.
class RingCounter final : public ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;
  void ring_when_over(EventId event, int eventfd) override {
    ForwardingDevice::ring_when_over(event, eventfd);
    ring_count.fetch_add(1);
    ring_count.notify_all();
  }
  std::atomic<std::uint32_t> ring_count{0};
};

TEST(EngineThread, SleepsOverLongWorkAndAsksTheDeviceToWakeIt) {
  GatedRegistry gated;
  HostDevice host(1);
  RingCounter device(host);
  DoorbellWatcher control;
  ChannelHarness channel(1, {"gated"}, {}, &gated.kernels());
  EngineThread sut(device, {}, kSleepy, control);
  sut.add(channel.make_channel());
  channel.submit(1, 0, 8);
  ring(channel.doorbell());
  await(gated.run_count, 1);
  await(device.ring_count, 1);
  gated.let_go();
  while (channel.completions().available() == 0) {
    std::this_thread::yield();
  }
}

TEST(EngineThread, StopsWithoutRunningTheQueue) {
  constexpr std::uint32_t kJobs = 60'000;
  GatedRegistry gated;
  HostDevice device(1);
  DoorbellWatcher control;
  ChannelHarness channel(1, {"gated"}, {.slot_count = kJobs, .input_bytes = 8, .output_bytes = 8},
                         &gated.kernels());
  auto sut = std::make_unique<EngineThread>(
      device, EngineSettings{.lane_count = 1, .depth = 1, .max_batch_jobs = 1}, kNormal, control);
  sut->add(channel.make_channel());
  for (std::uint32_t slot = 0; slot < kJobs; ++slot) {
    channel.submit(slot, slot, 8);
  }
  ring(channel.doorbell());
  await(gated.run_count, 1);
  gated.let_go();
  sut.reset();
  EXPECT_LT(gated.run_count.load(), kJobs);
  EXPECT_EQ(channel.collect().size(), gated.run_count.load()) << "what was issued is answered";
}

TEST(EngineThread, TellsThatTheDeviceIsLostAndStillGoes) {
  VirtualTimeDevice device({});
  device.fail(VirtualTimeDevice::Call::complete, 1, {DeviceOutcome::lost, 700});
  DoorbellWatcher control;
  ChannelHarness channel(1, {"copy"}, {});
  EngineThread sut(device, {}, kSleepy, control);
  sut.add(channel.make_channel());
  channel.submit(1, 0, 8);
  ring(channel.doorbell());
  await(control.lost, 1);
  EXPECT_EQ(control.lost.load(), 1U);
}

}  // namespace
}  // namespace overlap
