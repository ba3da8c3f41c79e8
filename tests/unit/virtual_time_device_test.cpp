#include "daemon/device/virtual_time_device.hpp"

#include "tests/unit/channel_harness.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <functional>
#include <optional>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::ScriptedKernel;

constexpr VirtualCosts k10_30_10 = {.copy_in = 10ms, .copy_out = 10ms, .kernel = 30ms};

/// Streams with short ways to put work on them, and a clock in milliseconds.
class Timeline {
 public:
  explicit Timeline(const VirtualCosts& costs, const VirtualResources& resources = {})
      : sut(costs, resources) {}

  void copy_in(StreamId stream, std::size_t range_count = 1) {
    EXPECT_TRUE(sut.copy_in(stream, std::vector<CopyRange>(range_count, byte_)).ok());
  }
  void copy_out(StreamId stream, std::size_t range_count = 1) {
    EXPECT_TRUE(sut.copy_out(stream, std::vector<CopyRange>(range_count, byte_)).ok());
  }
  void kernel(StreamId stream, std::uint32_t item_count = 1) {
    overlap_batch batch{};
    batch.item_count = item_count;
    EXPECT_TRUE(sut.launch(stream, kernel_, batch).ok());
  }
  EventId mark(StreamId stream) {
    const EventId event = sut.create_event();
    EXPECT_TRUE(sut.record(event, stream).ok());
    return event;
  }

  /// Lets everything end.
  /// @return when each event was found over, in milliseconds; -1 if never
  std::vector<double> ends_ms(const std::vector<EventId>& events) {
    std::vector<double> ends(events.size(), -1);
    do {
      for (std::size_t i = 0; i < events.size(); ++i) {
        const double now_ms = static_cast<double>(sut.now_ns()) / 1e6;
        if (ends[i] < 0 && sut.query(events[i]).state == EventState::ready) {
          ends[i] = now_ms;
        }
      }
    } while (sut.advance_to_next());
    return ends;
  }
  double now_ms() const { return static_cast<double>(sut.now_ns()) / 1e6; }

  VirtualTimeDevice sut;

 private:
  ScriptedKernel kernel_{{}};
  std::array<std::byte, 2> bytes_{};
  CopyRange byte_{&bytes_[0], &bytes_[1], 1};
};

using Ends = std::vector<double>;

TEST(VirtualTimeDevice, NothingHappensByItself) {
  VirtualTimeDevice sut(k10_30_10);
  EXPECT_FALSE(sut.advance_to_next());
  EXPECT_EQ(sut.now_ns(), 0U);
  EXPECT_EQ(sut.last_end_ns(), 0U);
}

TEST(VirtualTimeDevice, SaysWhatItIs) {
  const VirtualTimeDevice copies(k10_30_10, {.copy_engine_count = 3});
  EXPECT_EQ(copies.properties().backend, "virtual");
  EXPECT_EQ(copies.properties().copy_engine_count, 3U);
  EXPECT_FALSE(copies.properties().works_in_place);
  EXPECT_TRUE(VirtualTimeDevice({}, {.works_in_place = true}).properties().works_in_place);
  EXPECT_EQ(copies.describe(7), "scripted error 7");
}

TEST(VirtualTimeDevice, AStreamRunsInOrder) {
  Timeline t(k10_30_10);
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(stream);
  const EventId in = t.mark(stream);
  t.kernel(stream);
  const EventId computed = t.mark(stream);
  t.copy_out(stream);
  const EventId out = t.mark(stream);
  EXPECT_EQ(t.ends_ms({in, computed, out}), (Ends{10, 40, 50}));
  EXPECT_EQ(t.sut.last_end_ns(), 50'000'000U);
}

TEST(VirtualTimeDevice, EveryRangeOfACopyAndEveryItemOfABatchCosts) {
  Timeline t(k10_30_10);
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(stream, 3);
  const EventId in = t.mark(stream);
  t.kernel(stream, 2);
  const EventId computed = t.mark(stream);
  t.copy_out(stream, 0);
  const EventId out = t.mark(stream);
  EXPECT_EQ(t.ends_ms({in, computed, out}), (Ends{30, 90, 90}));
}

TEST(VirtualTimeDevice, OneCopyEngineServesBothDirectionsInTurn) {
  Timeline t(k10_30_10, {.copy_engine_count = 1});
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(a);
  t.copy_out(b);
  const std::vector<EventId> over = {t.mark(a), t.mark(b)};
  EXPECT_EQ(t.ends_ms(over), (Ends{10, 20}));
}

TEST(VirtualTimeDevice, TwoCopyEnginesServeOneDirectionEach) {
  for (const std::uint32_t engines : {2U, 3U}) {
    Timeline t(k10_30_10, {.copy_engine_count = engines});
    const StreamId a = t.sut.create_stream(StreamPriority::normal);
    const StreamId b = t.sut.create_stream(StreamPriority::normal);
    const StreamId c = t.sut.create_stream(StreamPriority::normal);
    t.copy_in(a);
    t.copy_out(b);
    t.copy_in(c);
    const std::vector<EventId> over = {t.mark(a), t.mark(b), t.mark(c)};
    EXPECT_EQ(t.ends_ms(over), (Ends{10, 10, 20})) << engines;
  }
}

TEST(VirtualTimeDevice, CopiesThatAreReadyTogetherRunInIssueOrder) {
  Timeline t(k10_30_10);
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  const StreamId c = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(c);
  t.copy_in(a);
  t.copy_in(b);
  const std::vector<EventId> over = {t.mark(a), t.mark(b), t.mark(c)};
  EXPECT_EQ(t.ends_ms(over), (Ends{20, 30, 10}));
}

TEST(VirtualTimeDevice, TheCopyThatIsReadyFirstRunsFirst) {
  // The engine is busy until 40; b's copy is ready at 20, a's at 30, though a's was issued first.
  Timeline t({.copy_in = 40ms, .kernel = 10ms}, {.sm_count = 2, .kernel_sm_count = 1});
  const StreamId busy = t.sut.create_stream(StreamPriority::normal);
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(busy);
  t.kernel(a, 3);
  t.copy_in(a);
  t.kernel(b, 2);
  t.copy_in(b);
  const std::vector<EventId> over = {t.mark(busy), t.mark(a), t.mark(b)};
  EXPECT_EQ(t.ends_ms(over), (Ends{40, 120, 80}));
}

TEST(VirtualTimeDevice, AKernelTakesTheWholeDeviceUnlessItSaysLess) {
  for (const std::uint32_t sms : {0U, 2U}) {
    Timeline t(k10_30_10, {.sm_count = 4, .kernel_sm_count = sms});
    std::vector<EventId> over;
    for (int i = 0; i < 3; ++i) {
      const StreamId stream = t.sut.create_stream(StreamPriority::normal);
      t.kernel(stream);
      over.push_back(t.mark(stream));
    }
    EXPECT_EQ(t.ends_ms(over), sms == 0 ? (Ends{30, 60, 90}) : (Ends{30, 30, 60}));
  }
}

TEST(VirtualTimeDevice, WorkWithoutCostIsOverAtOnceAndInOrder) {
  Timeline t({});
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(stream);
  t.kernel(stream);
  t.copy_out(stream);
  const EventId over = t.mark(stream);
  EXPECT_EQ(t.sut.query(over).state, EventState::ready);
  EXPECT_EQ(t.sut.now_ns(), 0U);
}

TEST(VirtualTimeDevice, AnIssueCostsTheHostAndWorkStartsNotBeforeIt) {
  Timeline t({.kernel = 30ms, .host_per_issue = 5ms}, {.sm_count = 2, .kernel_sm_count = 1});
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  t.kernel(a);
  EXPECT_EQ(t.now_ms(), 5);
  t.kernel(b);
  EXPECT_EQ(t.now_ms(), 10);
  const std::vector<EventId> over = {t.mark(a), t.mark(b)};
  EXPECT_EQ(t.ends_ms(over), (Ends{30, 35}));
}

TEST(VirtualTimeDevice, AHarvestCostsTheHostOncePerRecording) {
  Timeline t({.kernel = 30ms, .host_per_harvest = 2ms});
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  t.kernel(stream);
  const EventId over = t.mark(stream);
  EXPECT_EQ(t.sut.query(over).state, EventState::pending);
  EXPECT_EQ(t.now_ms(), 0);
  EXPECT_TRUE(t.sut.advance_to_next());
  EXPECT_EQ(t.sut.query(over).state, EventState::ready);
  EXPECT_EQ(t.now_ms(), 32);
  EXPECT_EQ(t.sut.query(over).state, EventState::ready);
  EXPECT_EQ(t.now_ms(), 32);
  EXPECT_TRUE(t.sut.record(over, stream).ok());
  EXPECT_EQ(t.sut.query(over).state, EventState::ready);
  EXPECT_EQ(t.now_ms(), 34);
}

TEST(VirtualTimeDevice, BytesMoveWhenTheCopyEnds) {
  VirtualTimeDevice sut({.copy_in = 10ms, .copy_out = 10ms});
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  std::byte source{1};
  std::byte middle{};
  std::byte target{};
  const CopyRange in{&middle, &source, 1};
  const CopyRange out{&target, &middle, 1};
  EXPECT_TRUE(sut.copy_in(stream, {&in, 1}).ok());
  EXPECT_TRUE(sut.copy_out(stream, {&out, 1}).ok());
  EXPECT_EQ(middle, std::byte{0});
  source = std::byte{2};  // too early for whoever reuses a slot: it shows in the result
  EXPECT_TRUE(sut.advance_to_next());
  EXPECT_EQ(middle, std::byte{2});
  EXPECT_EQ(target, std::byte{0});
  source = std::byte{3};
  EXPECT_TRUE(sut.advance_to_next());
  EXPECT_EQ(target, std::byte{2});
  EXPECT_FALSE(sut.advance_to_next());
}

TEST(VirtualTimeDevice, AKernelRunsWhenItsTimeIsOver) {
  VirtualTimeDevice sut({.kernel = 30ms});
  int runs = 0;
  const ScriptedKernel kernel({.run = [&](const overlap_batch& batch) {
    EXPECT_EQ(batch.item_count, 3U);
    EXPECT_EQ(sut.now_ns(), 90'000'000U);
    ++runs;
  }});
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  overlap_batch batch{};
  batch.item_count = 3;
  EXPECT_TRUE(sut.launch(stream, kernel, batch).ok());
  EXPECT_EQ(runs, 0);
  EXPECT_TRUE(sut.advance_to_next());
  EXPECT_EQ(runs, 1);
}

TEST(VirtualTimeDevice, AKernelHeldBackNeverStarts) {
  Timeline t(k10_30_10);
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  t.sut.hold_kernels(true);
  t.kernel(a);
  t.copy_in(b);
  const EventId computed = t.mark(a);
  const EventId copied = t.mark(b);
  EXPECT_EQ(t.ends_ms({computed, copied}), (Ends{-1, 10}));
  t.sut.hold_kernels(false);
  EXPECT_EQ(t.ends_ms({computed}), (Ends{40}));
}

TEST(VirtualTimeDevice, AnEventThatWasNeverRecordedIsOver) {
  VirtualTimeDevice sut({.kernel = 1ms, .host_per_harvest = 1ms});
  const EventId event = sut.create_event();
  EXPECT_EQ(sut.query(event).state, EventState::ready);
  EXPECT_EQ(sut.now_ns(), 0U);
}

TEST(VirtualTimeDevice, AStreamWaitsForAnEventOfAnother) {
  Timeline t(k10_30_10);
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(a);
  const EventId copied = t.mark(a);
  EXPECT_TRUE(t.sut.wait(b, copied).ok());
  t.kernel(b);
  const EventId computed = t.mark(b);
  EXPECT_EQ(t.ends_ms({copied, computed}), (Ends{10, 40}));
}

TEST(VirtualTimeDevice, WaitsChainOverStreams) {
  Timeline t({.kernel = 10ms}, {.sm_count = 8, .kernel_sm_count = 1});
  std::optional<EventId> before;
  std::vector<EventId> over;
  for (int i = 0; i < 4; ++i) {
    const StreamId stream = t.sut.create_stream(StreamPriority::normal);
    if (before) {
      EXPECT_TRUE(t.sut.wait(stream, *before).ok());
    }
    t.kernel(stream);
    before = t.mark(stream);
    over.push_back(*before);
  }
  EXPECT_EQ(t.ends_ms(over), (Ends{10, 20, 30, 40}));
}

TEST(VirtualTimeDevice, AWaitForAnEventThatIsRecordedOnlyLaterWaitsForNothing) {
  Timeline t(k10_30_10);
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  const EventId event = t.sut.create_event();
  EXPECT_TRUE(t.sut.wait(b, event).ok());
  t.kernel(a);
  EXPECT_TRUE(t.sut.record(event, a).ok());
  t.copy_in(b);
  EXPECT_EQ(t.ends_ms({t.mark(b), event}), (Ends{10, 30}));
}

TEST(VirtualTimeDevice, AWaitKeepsToTheRecordingThatItSaw) {
  // The event is recorded anew behind a kernel; the wait was for the copy alone.
  Timeline t(k10_30_10);
  const StreamId a = t.sut.create_stream(StreamPriority::normal);
  const StreamId b = t.sut.create_stream(StreamPriority::normal);
  t.copy_in(a);
  const EventId event = t.mark(a);
  EXPECT_TRUE(t.sut.wait(b, event).ok());
  t.kernel(a);
  EXPECT_TRUE(t.sut.record(event, a).ok());
  t.copy_out(b);
  EXPECT_EQ(t.ends_ms({t.mark(b), event}), (Ends{20, 40}));
}

TEST(VirtualTimeDevice, AnEventRecordedAnewOnAFasterStreamIsAskedThere) {
  Timeline t(k10_30_10);
  const StreamId slow = t.sut.create_stream(StreamPriority::normal);
  const StreamId fast = t.sut.create_stream(StreamPriority::normal);
  const StreamId waiting = t.sut.create_stream(StreamPriority::normal);
  t.kernel(slow);
  const EventId event = t.mark(slow);
  EXPECT_TRUE(t.sut.wait(waiting, event).ok());
  t.copy_in(fast);
  EXPECT_TRUE(t.sut.record(event, fast).ok());
  const EventId waited = t.mark(waiting);
  EXPECT_EQ(t.ends_ms({event, waited}), (Ends{10, 30}));
  // What the slow stream did afterwards does not take it back.
  EXPECT_EQ(t.sut.query(event).state, EventState::ready);
}

TEST(VirtualTimeDevice, TheNthCallFailsAndOnlyThat) {
  constexpr DeviceStatus kFault = {DeviceOutcome::failed, 700};
  Timeline t(k10_30_10);
  VirtualTimeDevice& sut = t.sut;
  const StreamId stream = sut.create_stream(StreamPriority::normal);
  const EventId event = sut.create_event();
  const ScriptedKernel kernel({});
  std::array<std::byte, 4096> page{};
  const std::vector<std::pair<Call, std::function<DeviceStatus()>>> calls = {
      {Call::pin, [&] { return sut.pin(page); }},
      {Call::unpin,
       [&] {
         EXPECT_TRUE(sut.pin(page).ok());
         return sut.unpin(page.data());
       }},
      {Call::copy_in, [&] { return sut.copy_in(stream, {}); }},
      {Call::copy_out, [&] { return sut.copy_out(stream, {}); }},
      {Call::launch, [&] { return sut.launch(stream, kernel, overlap_batch{}); }},
      {Call::record, [&] { return sut.record(event, stream); }},
  };
  for (const auto& [call, make] : calls) {
    const std::uint64_t before = sut.calls(call);
    sut.fail(call, before + 2, kFault);
    EXPECT_TRUE(make().ok());
    const DeviceStatus second = make();
    EXPECT_EQ(second.outcome, DeviceOutcome::failed);
    EXPECT_EQ(second.code, 700);
    EXPECT_TRUE(make().ok());
    EXPECT_EQ(sut.calls(call), before + 3);
  }
}

TEST(VirtualTimeDevice, ACallThatFailsEnqueuesNothing) {
  Timeline t(k10_30_10);
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  for (const Call call : {Call::copy_in, Call::copy_out, Call::launch, Call::record}) {
    t.sut.fail(call, 1, {DeviceOutcome::failed, 1});
  }
  const CopyRange range{nullptr, nullptr, 1};
  const ScriptedKernel kernel(
      {.run = [](const overlap_batch&) { ADD_FAILURE() << "a kernel ran that failed to launch"; }});
  EXPECT_FALSE(t.sut.copy_in(stream, {&range, 1}).ok());
  EXPECT_FALSE(t.sut.copy_out(stream, {&range, 1}).ok());
  EXPECT_FALSE(t.sut.launch(stream, kernel, overlap_batch{}).ok());
  const EventId event = t.sut.create_event();
  EXPECT_FALSE(t.sut.record(event, stream).ok());
  EXPECT_FALSE(t.sut.advance_to_next());
  EXPECT_EQ(t.sut.query(event).state, EventState::ready);
}

TEST(VirtualTimeDevice, AnEventFoundOverReportsTheScriptedEnd) {
  Timeline t({});
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  t.sut.fail(Call::complete, 2, {DeviceOutcome::failed, 715});
  t.sut.fail(Call::complete, 3, {DeviceOutcome::lost, 700});
  const EventId first = t.mark(stream);
  const EventId second = t.mark(stream);
  const EventId third = t.mark(stream);
  EXPECT_EQ(t.sut.query(first).state, EventState::ready);
  const EventQuery failed = t.sut.query(second);
  EXPECT_EQ(failed.state, EventState::failed);
  EXPECT_EQ(failed.code, 715);
  const EventQuery lost = t.sut.query(third);
  EXPECT_EQ(lost.state, EventState::lost);
  EXPECT_EQ(lost.code, 700);
  // Asking again does not make an error go away; recording anew does.
  EXPECT_EQ(t.sut.query(second).state, EventState::failed);
  EXPECT_EQ(t.sut.query(second).code, 715);
  EXPECT_EQ(t.sut.query(third).state, EventState::lost);
  EXPECT_TRUE(t.sut.record(second, stream).ok());
  EXPECT_EQ(t.sut.query(second).state, EventState::ready);
}

TEST(VirtualTimeDevice, CountsWhatIsPinned) {
  VirtualTimeDevice sut({});
  std::array<std::byte, 8192> pages{};
  const std::span<std::byte> all(pages);
  EXPECT_TRUE(sut.pin(all.first(4096)).ok());
  EXPECT_TRUE(sut.pin(all.last(4096)).ok());
  EXPECT_EQ(sut.pinned_range_count(), 2U);
  EXPECT_TRUE(sut.unpin(all.data()).ok());
  EXPECT_EQ(sut.pinned_range_count(), 1U);
  EXPECT_FALSE(sut.unpin(all.data()).ok()) << "not pinned any more";
  sut.fail(Call::pin, 3, {DeviceOutcome::failed, 2});
  EXPECT_FALSE(sut.pin(all.first(4096)).ok());
  EXPECT_EQ(sut.pinned_range_count(), 1U);
}

TEST(VirtualTimeDevice, GivesAlignedMemoryUntilItIsTold) {
  VirtualTimeDevice sut({});
  sut.fail(Call::allocate, 3, {DeviceOutcome::failed, 2});
  std::byte* const buffer = sut.allocate(1);
  std::byte* const table = sut.allocate_host_table(1000);
  ASSERT_NE(buffer, nullptr);
  ASSERT_NE(table, nullptr);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(buffer) % 256, 0U);
  EXPECT_EQ(reinterpret_cast<std::uintptr_t>(table) % 256, 0U);
  table[999] = std::byte{1};
  EXPECT_EQ(sut.allocate(1), nullptr);
  sut.release(buffer);
  sut.release_host_table(table);
  std::byte* const again = sut.allocate(1);
  EXPECT_NE(again, nullptr);
  sut.release(again);
}

TEST(VirtualTimeDevice, RingsEarlyBecauseNoTimePassesWhileSomebodySleeps) {
  Timeline t(k10_30_10);
  const StreamId stream = t.sut.create_stream(StreamPriority::normal);
  t.kernel(stream);
  const FileDescriptor bell = make_eventfd();
  t.sut.ring_when_over(t.mark(stream), bell.get());
  EXPECT_EQ(testing::take_rings(bell.get()), 1U);
}

}  // namespace
}  // namespace overlap
