#include "daemon/device/host_device.hpp"

#include "tests/unit/channel_harness.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <unistd.h>
#include <array>
#include <atomic>
#include <csignal>
#include <optional>
#include <thread>

namespace overlap {
namespace {

using testing::ScriptedKernel;

/// A kernel that ends when the test lets it. Any thread may open it.
class Gate {
 public:
  void open() noexcept {
    open_.store(true);
    open_.notify_all();
  }
  /// Until the kernel has begun.
  void await_arrival() const noexcept { arrived_.wait(false); }
  [[nodiscard]] const Kernel& kernel() const noexcept { return kernel_; }

 private:
  std::atomic<bool> open_{false};
  std::atomic<bool> arrived_{false};
  ScriptedKernel kernel_{{.run = [this](const overlap_batch&) {
    arrived_.store(true);
    arrived_.notify_all();
    open_.wait(false);
  }}};
};

/// A batch that carries a number to a scripted kernel.
overlap_batch numbered(std::uint64_t number) {
  overlap_batch batch{};
  batch.max_input_bytes = number;
  return batch;
}

void await(HostDevice& sut, EventId event) {
  while (sut.query(event).state != EventState::ready) {
    std::this_thread::yield();
  }
}

EventId mark(HostDevice& sut, StreamId stream) {
  const EventId event = sut.create_event();
  EXPECT_TRUE(sut.record(event, stream).ok());
  return event;
}

class HostDeviceWith : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  const std::uint32_t worker_count = GetParam();
};

TEST_P(HostDeviceWith, WorksInTheSlotsWithALanePerWorker) {
  const HostDevice sut(worker_count);
  EXPECT_EQ(sut.properties().backend, "host");
  EXPECT_TRUE(sut.properties().works_in_place);
  EXPECT_EQ(sut.properties().copy_engine_count, 0U);
  EXPECT_EQ(sut.properties().default_lane_count, worker_count == 0 ? 1 : worker_count);
  EXPECT_EQ(sut.properties().default_depth, worker_count == 0 ? 1U : 2U);
}

TEST_P(HostDeviceWith, AnEventThatWasNeverRecordedIsOver) {
  HostDevice sut(worker_count);
  EXPECT_EQ(sut.query(sut.create_event()).state, EventState::ready);
}

TEST_P(HostDeviceWith, AnEventInAnEmptyStreamIsOver) {
  HostDevice sut(worker_count);
  EXPECT_EQ(sut.query(mark(sut, sut.create_stream(StreamPriority::normal))).state,
            EventState::ready);
}

TEST_P(HostDeviceWith, StreamsRunInOrder) {
  // Several times as many tasks as a worker's ring holds.
  constexpr std::uint64_t kTasks = 20'000;
  HostDevice sut(worker_count);
  std::array<std::vector<std::uint64_t>, 4> seen;
  std::vector<std::unique_ptr<ScriptedKernel>> kernels;
  std::vector<StreamId> streams;
  for (auto& numbers : seen) {
    kernels.push_back(std::make_unique<ScriptedKernel>(
        ScriptedKernel::Script{.run = [&numbers](const overlap_batch& batch) {
          numbers.push_back(batch.max_input_bytes);
        }}));
    streams.push_back(sut.create_stream(StreamPriority::normal));
  }
  for (std::uint64_t i = 0; i < kTasks; ++i) {
    const std::size_t stream = i % streams.size();
    EXPECT_TRUE(sut.launch(streams[stream], *kernels[stream], numbered(i)).ok());
  }
  for (std::size_t stream = 0; stream < streams.size(); ++stream) {
    await(sut, mark(sut, streams[stream]));
    ASSERT_EQ(seen[stream].size(), kTasks / streams.size());
    for (std::uint64_t i = 0; i < seen[stream].size(); ++i) {
      ASSERT_EQ(seen[stream][i], i * streams.size() + stream);
    }
  }
}

TEST_P(HostDeviceWith, CopiesBothWaysInOrder) {
  HostDevice sut(worker_count);
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  std::array<std::byte, 3> source{std::byte{1}, std::byte{2}, std::byte{3}};
  std::array<std::byte, 3> middle{};
  std::array<std::byte, 3> target{};
  const std::array in = {CopyRange{middle.data(), source.data(), 1},
                         CopyRange{middle.data() + 1, source.data() + 1, 2}};
  const std::array out = {CopyRange{target.data(), middle.data(), 3}};
  EXPECT_TRUE(sut.copy_in(stream, in).ok());
  EXPECT_TRUE(sut.copy_out(stream, out).ok());
  await(sut, mark(sut, stream));
  EXPECT_EQ(target, source);
}

TEST_P(HostDeviceWith, AWaitOrdersStreamsAgainstEachOther) {
  // A plain number goes from stream to stream; only the waits order who touches it.
  constexpr std::uint64_t kRounds = 1000;
  HostDevice sut(worker_count);
  std::uint64_t number = 0;
  const ScriptedKernel next({.run = [&](const overlap_batch& batch) {
    if (number == batch.max_input_bytes) {
      ++number;
    }
  }});
  const std::array streams = {sut.create_stream(StreamPriority::normal),
                              sut.create_stream(StreamPriority::normal),
                              sut.create_stream(StreamPriority::normal)};
  const std::array events = {sut.create_event(), sut.create_event(), sut.create_event()};
  for (std::uint64_t i = 0; i < kRounds; ++i) {
    const std::size_t here = i % streams.size();
    const std::size_t before = (i + streams.size() - 1) % streams.size();
    EXPECT_TRUE(sut.wait(streams[here], events[before]).ok());
    EXPECT_TRUE(sut.launch(streams[here], next, numbered(i)).ok());
    EXPECT_TRUE(sut.record(events[here], streams[here]).ok());
  }
  await(sut, events[(kRounds - 1) % streams.size()]);
  EXPECT_EQ(number, kRounds);
}

TEST_P(HostDeviceWith, RingsForAnEventThatIsOver) {
  HostDevice sut(worker_count);
  const FileDescriptor bell = make_eventfd();
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  const ScriptedKernel kernel({});
  EXPECT_TRUE(sut.launch(stream, kernel, numbered(0)).ok());
  const EventId over = mark(sut, stream);
  await(sut, over);
  sut.ring_when_over(over, bell.get());
  EXPECT_GE(testing::take_rings(bell.get()), 1U);
}

TEST_P(HostDeviceWith, EverythingEndsBeforeTheDeviceGoes) {
  std::atomic<std::uint64_t> runs{0};
  const ScriptedKernel count({.run = [&](const overlap_batch&) { runs.fetch_add(1); }});
  for (std::uint64_t round = 1; round <= 60; ++round) {
    HostDevice sut(worker_count);
    const std::array streams = {sut.create_stream(StreamPriority::normal),
                                sut.create_stream(StreamPriority::normal),
                                sut.create_stream(StreamPriority::normal)};
    // Each stream waits for the one before and the first for the last, up to the very end.
    EventId last = sut.create_event();
    for (int i = 0; i < 30; ++i) {
      const StreamId stream = streams[static_cast<std::size_t>(i) % streams.size()];
      EXPECT_TRUE(sut.wait(stream, last).ok());
      EXPECT_TRUE(sut.launch(stream, count, numbered(0)).ok());
      last = mark(sut, stream);
    }
    EXPECT_TRUE(sut.wait(streams[0], last).ok());
    EXPECT_TRUE(sut.wait(streams[1], last).ok());
  }
  EXPECT_EQ(runs.load(), 60U * 30U);
}

TEST_P(HostDeviceWith, GivesAlignedMemoryAndPinsWithoutWork) {
  HostDevice sut(worker_count);
  for (const std::uint64_t bytes : {1U, 4096U, 5000U}) {
    std::byte* const buffer = sut.allocate(bytes);
    std::byte* const table = sut.allocate_host_table(bytes);
    ASSERT_NE(buffer, nullptr);
    ASSERT_NE(table, nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 256, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table) % 256, 0U);
    buffer[bytes - 1] = std::byte{1};
    table[bytes - 1] = std::byte{1};
    EXPECT_TRUE(sut.pin({buffer, bytes}).ok());
    EXPECT_TRUE(sut.unpin(buffer).ok());
    sut.release(buffer);
    sut.release_host_table(table);
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, HostDeviceWith, ::testing::Values(0U, 1U, 3U));

TEST(HostDevice, WithoutWorkersAKernelRunsInsideTheLaunch) {
  HostDevice sut(0);
  std::optional<std::thread::id> ran_on;
  const ScriptedKernel kernel(
      {.run = [&](const overlap_batch&) { ran_on = std::this_thread::get_id(); }});
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  EXPECT_TRUE(sut.launch(stream, kernel, numbered(0)).ok());
  EXPECT_EQ(ran_on, std::this_thread::get_id());
  EXPECT_EQ(sut.query(mark(sut, stream)).state, EventState::ready);
}

TEST(HostDevice, AnEventIsPendingWhileItsKernelRuns) {
  Gate gate;
  HostDevice sut(1);
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  EXPECT_TRUE(sut.launch(stream, gate.kernel(), numbered(0)).ok());
  const EventId over = mark(sut, stream);
  gate.await_arrival();
  EXPECT_EQ(sut.query(over).state, EventState::pending);
  gate.open();
  await(sut, over);
}

TEST(HostDevice, StreamsOfTwoWorkersRunSideBySide) {
  // Both kernels have begun and neither has ended.
  Gate a;
  Gate b;
  HostDevice sut(2);
  EXPECT_TRUE(sut.launch(sut.create_stream(StreamPriority::normal), a.kernel(), numbered(0)).ok());
  EXPECT_TRUE(sut.launch(sut.create_stream(StreamPriority::normal), b.kernel(), numbered(0)).ok());
  a.await_arrival();
  b.await_arrival();
  a.open();
  b.open();
}

TEST(HostDevice, AWaitKeepsToTheRecordingThatItSaw) {
  Gate gate;
  HostDevice sut(2);
  const ScriptedKernel kernel({});
  const StreamId a = sut.create_stream(StreamPriority::normal);
  const StreamId b = sut.create_stream(StreamPriority::normal);
  EXPECT_TRUE(sut.launch(a, kernel, numbered(0)).ok());
  const EventId event = mark(sut, a);
  EXPECT_TRUE(sut.wait(b, event).ok());
  // The event is recorded anew behind a kernel that does not end; b's wait was for the first one.
  EXPECT_TRUE(sut.launch(a, gate.kernel(), numbered(0)).ok());
  EXPECT_TRUE(sut.record(event, a).ok());
  EXPECT_TRUE(sut.launch(b, kernel, numbered(0)).ok());
  await(sut, mark(sut, b));
  EXPECT_EQ(sut.query(event).state, EventState::pending);
  gate.open();
  await(sut, event);
}

TEST(HostDevice, ARingWakesASleeper) {
  HostDevice sut(1);
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  const FileDescriptor bell = make_eventfd();
  for (int round = 0; round < 200; ++round) {
    Gate gate;
    EXPECT_TRUE(sut.launch(stream, gate.kernel(), numbered(0)).ok());
    const EventId over = mark(sut, stream);
    sut.ring_when_over(over, bell.get());
    std::thread opener([&] { gate.open(); });
    while (sut.query(over).state != EventState::ready) {
      pollfd waiting{bell.get(), POLLIN, 0};
      ASSERT_EQ(::poll(&waiting, 1, -1), 1);
      // It may ring early for an earlier round; the query is the truth.
      static_cast<void>(testing::take_rings(bell.get()));
    }
    opener.join();
  }
}

TEST(HostDevice, DoesNotRingBeforeTheEventIsOver) {
  Gate first;
  Gate second;
  const FileDescriptor bell = make_eventfd();
  HostDevice sut(1);
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  EXPECT_TRUE(sut.launch(stream, first.kernel(), numbered(0)).ok());
  EXPECT_TRUE(sut.launch(stream, second.kernel(), numbered(0)).ok());
  sut.ring_when_over(mark(sut, stream), bell.get());
  first.open();
  second.await_arrival();
  EXPECT_EQ(testing::take_rings(bell.get()), 0U);
  second.open();
}

TEST(HostDevice, RingsNoStrangerWhenTheBellHasGone) {
  Gate gate;
  FileDescriptor stranger;
  {
    HostDevice sut(1);
    const StreamId stream = sut.create_stream(StreamPriority::normal);
    EXPECT_TRUE(sut.launch(stream, gate.kernel(), numbered(0)).ok());
    FileDescriptor bell = make_eventfd();
    sut.ring_when_over(mark(sut, stream), bell.get());
    const int number = bell.get();
    bell.reset();
    // The next descriptor gets the number of the one that has gone.
    stranger = make_eventfd();
    ASSERT_EQ(stranger.get(), number);
    gate.open();
  }
  // Neither rung nor closed: the one ring in it is ours.
  ring(stranger.get());
  EXPECT_EQ(testing::take_rings(stranger.get()), 1U);
}

/// Opens a gate when its thread ends.
struct GateOpener {
  explicit GateOpener(Gate& opened) : gate(opened) {}
  GateOpener(const GateOpener&) = delete;
  GateOpener& operator=(const GateOpener&) = delete;
  ~GateOpener() { gate.open(); }
  Gate& gate;
};

TEST(HostDevice, AWorkerMayWaitForOneWhoseThreadHasEnded) {
  // The second worker gets to its wait only when the first one's thread is over: whatever that
  // worker was has to be there still.
  Gate gate;
  std::atomic<int> runs{0};
  const ScriptedKernel first({.run = [&](const overlap_batch&) {
    thread_local GateOpener opener(gate);
    runs.fetch_add(1);
  }});
  const ScriptedKernel slow({.run = [](const overlap_batch&) {
    for (int i = 0; i < 1000; ++i) {
      std::this_thread::yield();
    }
  }});
  const ScriptedKernel last({.run = [&](const overlap_batch&) { runs.fetch_add(1); }});
  {
    HostDevice sut(2);
    const StreamId a = sut.create_stream(StreamPriority::normal);
    const StreamId b = sut.create_stream(StreamPriority::normal);
    EXPECT_TRUE(sut.launch(a, first, numbered(0)).ok());
    const EventId awaited = mark(sut, a);
    EXPECT_TRUE(sut.launch(b, gate.kernel(), numbered(0)).ok());
    EXPECT_TRUE(sut.launch(b, slow, numbered(0)).ok());
    EXPECT_TRUE(sut.wait(b, awaited).ok());
    EXPECT_TRUE(sut.launch(b, last, numbered(0)).ok());
  }
  EXPECT_EQ(runs.load(), 2);
}

TEST(HostDevice, WorkersLeaveSignalsToOthers) {
  HostDevice sut(1);
  std::atomic<bool> blocked{false};
  const ScriptedKernel kernel({.run = [&](const overlap_batch&) {
    sigset_t mask;
    pthread_sigmask(SIG_BLOCK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGINT) == 1;
  }});
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  EXPECT_TRUE(sut.launch(stream, kernel, numbered(0)).ok());
  await(sut, mark(sut, stream));
  EXPECT_TRUE(blocked.load());
}

TEST(HostDevice, NamesItsErrors) {
  const HostDevice sut(0);
  EXPECT_EQ(sut.describe(0), "no error");
  EXPECT_EQ(sut.describe(ENOMEM), "Cannot allocate memory");
}

}  // namespace
}  // namespace overlap
