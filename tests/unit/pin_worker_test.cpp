#include "daemon/control/pin_worker.hpp"

#include "daemon/control/reclaimer.hpp"
#include "tests/unit/control_fixture.hpp"
#include "tests/unit/pin_inbox.hpp"

#include <gtest/gtest.h>

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <functional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;

using testing::Inbox;

class PinWorkerTest : public ::testing::Test {
 protected:
  PinWorkerTest() {
    settings_.pin_chunk_bytes = 4096;
    settings_.pin_gap = 0ns;
  }

  static constexpr std::uint64_t kNoFeatures = 0;
  ChannelGeometry geometry_ =
      std::get<ChannelGeometry>(plan_geometry({3, 4096, 4096, 0}, {1024, 1U << 20U, 0, 1U << 26U}));
  testing::SharedDevice device_;
  StoreSettings settings_;
  EngineLoad load_;
  Inbox inbox_;
  std::vector<std::uint64_t> progress_;
  std::function<void(PinReport)> report_ = [this](PinReport report) {
    if (const auto* progress = std::get_if<StoreProgress>(&report)) {
      progress_.push_back(progress->pinned_bytes);
    } else {
      inbox_.put(std::move(report));
    }
  };

  [[nodiscard]] FileDescriptor take_allocated(ChannelId id) {
    PinReport report = inbox_.take();
    auto& allocated = std::get<StoreAllocated>(report);
    EXPECT_EQ(allocated.channel, id);
    return std::move(std::get<FileDescriptor>(allocated.outcome));
  }
  [[nodiscard]] ChannelStore take_prepared(ChannelId id) {
    PinReport report = inbox_.take();
    auto& prepared = std::get<StorePrepared>(report);
    EXPECT_EQ(prepared.channel, id);
    EXPECT_EQ(prepared.warning, "");
    return std::move(std::get<ChannelStore>(prepared.outcome));
  }
};

TEST_F(PinWorkerTest, TakesAStoreAllTheWay) {
  PinWorker sut(device_, settings_, load_, report_);
  sut.allocate(ChannelId{7}, geometry_);
  FileDescriptor memory = take_allocated(ChannelId{7});
  EXPECT_EQ(device_.calls(VirtualTimeDevice::Call::pin), 0U);
  sut.prepare(ChannelId{7}, std::move(memory), geometry_, kNoFeatures);
  const ChannelStore store = take_prepared(ChannelId{7});
  EXPECT_EQ(device_.pinned_range_count(), 6U);
  EXPECT_TRUE(is_published(store.view()));
}

TEST_F(PinWorkerTest, ServesInTheOrderOfAsking) {
  PinWorker sut(device_, settings_, load_, report_);
  for (std::uint64_t id = 1; id <= 20; ++id) {
    sut.allocate(ChannelId{id}, geometry_);
  }
  for (std::uint64_t id = 1; id <= 20; ++id) {
    EXPECT_TRUE(take_allocated(ChannelId{id}));
  }
}

TEST_F(PinWorkerTest, ReportsWhatCannotBeHad) {
  settings_.require_pinned = true;
  device_.fail(VirtualTimeDevice::Call::pin, 2, {DeviceOutcome::failed, 2});
  PinWorker sut(device_, settings_, load_, report_);
  ChannelGeometry empty = geometry_;
  empty.total_bytes = 0;
  sut.allocate(ChannelId{1}, empty);
  const PinReport refused = inbox_.take();
  EXPECT_TRUE(std::holds_alternative<StoreRefusal>(std::get<StoreAllocated>(refused).outcome));
  sut.allocate(ChannelId{2}, geometry_);
  sut.prepare(ChannelId{2}, take_allocated(ChannelId{2}), geometry_, kNoFeatures);
  const PinReport unpinned = inbox_.take();
  const auto& outcome = std::get<StorePrepared>(unpinned).outcome;
  ASSERT_TRUE(std::holds_alternative<StoreRefusal>(outcome));
  EXPECT_EQ(std::get<StoreRefusal>(outcome).code, AttachCode::pinning_failed);
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

TEST_F(PinWorkerTest, TellsOnTheWayHowMuchIsPinned) {
  PinWorker sut(device_, settings_, load_, report_);
  sut.allocate(ChannelId{1}, geometry_);
  sut.prepare(ChannelId{1}, take_allocated(ChannelId{1}), geometry_, kNoFeatures);
  const ChannelStore store = take_prepared(ChannelId{1});
  // An eighth of the whole at a time, at the most: 9 pages of which 6 are pinned one by one.
  EXPECT_EQ(geometry_.total_bytes, 9U * 4096);
  EXPECT_EQ(progress_, (std::vector<std::uint64_t>{8192, 12288, 16384, 20480}));
}

TEST_F(PinWorkerTest, LeavesOffInTheMiddleForWhoIsCancelled) {
  PinWorker sut(device_, settings_, load_, report_);
  sut.allocate(ChannelId{1}, geometry_);
  device_.pin_gate.close();
  sut.prepare(ChannelId{1}, take_allocated(ChannelId{1}), geometry_, kNoFeatures);
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  sut.cancel(ChannelId{1});
  device_.pin_gate.open();
  const ChannelStore store = take_prepared(ChannelId{1});
  EXPECT_EQ(store.pinned.size(), 1U);
  EXPECT_EQ(device_.calls(VirtualTimeDevice::Call::pin), 1U);
}

TEST_F(PinWorkerTest, DoesNothingForWhoIsCancelledInTheQueue) {
  PinWorker sut(device_, settings_, load_, report_);
  sut.allocate(ChannelId{1}, geometry_);
  sut.allocate(ChannelId{2}, geometry_);
  FileDescriptor first = take_allocated(ChannelId{1});
  FileDescriptor second = take_allocated(ChannelId{2});
  device_.pin_gate.close();
  sut.prepare(ChannelId{1}, std::move(first), geometry_, kNoFeatures);
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  sut.prepare(ChannelId{2}, std::move(second), geometry_, kNoFeatures);
  sut.allocate(ChannelId{3}, geometry_);
  sut.cancel(ChannelId{2});
  sut.cancel(ChannelId{3});
  device_.pin_gate.open();
  EXPECT_EQ(take_prepared(ChannelId{1}).pinned.size(), 6U);
  const ChannelStore left = take_prepared(ChannelId{2});
  EXPECT_TRUE(left.pinned.empty());
  EXPECT_TRUE(left.memory);
  const PinReport refused = inbox_.take();
  EXPECT_TRUE(std::holds_alternative<StoreRefusal>(std::get<StoreAllocated>(refused).outcome));
}

TEST_F(PinWorkerTest, CutsAGapShortForWhoIsCancelled) {
  settings_.pin_gap = 24h;
  load_.batches_in_flight = 1;
  PinWorker sut(device_, settings_, load_, report_);
  sut.allocate(ChannelId{1}, geometry_);
  device_.pin_gate.close();
  sut.prepare(ChannelId{1}, take_allocated(ChannelId{1}), geometry_, kNoFeatures);
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  device_.pin_gate.open();
  ASSERT_TRUE(
      testing::eventually([&] { return device_.calls(VirtualTimeDevice::Call::pin) == 1; }));
  sut.cancel(ChannelId{1});
  EXPECT_EQ(take_prepared(ChannelId{1}).pinned.size(), 1U);
}

TEST_F(PinWorkerTest, MakesNoGapsWhileNobodysJobsRun) {
  settings_.pin_gap = 24h;
  PinWorker sut(device_, settings_, load_, report_);
  sut.allocate(ChannelId{1}, geometry_);
  sut.prepare(ChannelId{1}, take_allocated(ChannelId{1}), geometry_, kNoFeatures);
  EXPECT_EQ(take_prepared(ChannelId{1}).pinned.size(), 6U);
}

TEST_F(PinWorkerTest, WorksOnAThreadOfItsOwnWithEverySignalBlocked) {
  std::thread::id thread;
  std::string name(16, '\0');
  bool blocked = false;
  PinWorker sut(device_, settings_, load_, [&](PinReport report) {
    thread = std::this_thread::get_id();
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGHUP) == 1;
    inbox_.put(std::move(report));
  });
  sut.allocate(ChannelId{1}, geometry_);
  EXPECT_TRUE(take_allocated(ChannelId{1}));
  EXPECT_NE(thread, std::this_thread::get_id());
  EXPECT_STREQ(name.c_str(), "pin worker");
  EXPECT_TRUE(blocked);
}

TEST_F(PinWorkerTest, FinishesWhatWasAskedForWhenItGoes) {
  {
    PinWorker sut(device_, settings_, load_, report_);
    for (std::uint64_t id = 1; id <= 5; ++id) {
      sut.allocate(ChannelId{id}, geometry_);
    }
  }
  for (std::uint64_t id = 1; id <= 5; ++id) {
    ASSERT_FALSE(inbox_.is_empty());
    EXPECT_TRUE(take_allocated(ChannelId{id}));
  }
}

TEST_F(PinWorkerTest, MakesNoGapsAnyMoreWhenItGoes) {
  // Five gaps of a day, unless the worker's end cuts them short.
  settings_.pin_gap = 24h;
  load_.batches_in_flight = 1;
  {
    PinWorker sut(device_, settings_, load_, report_);
    sut.allocate(ChannelId{1}, geometry_);
    device_.pin_gate.close();
    sut.prepare(ChannelId{1}, take_allocated(ChannelId{1}), geometry_, kNoFeatures);
    ASSERT_TRUE(device_.pin_gate.await_visitor());
    device_.pin_gate.open();
  }
  const ChannelStore store = take_prepared(ChannelId{1});
  EXPECT_EQ(store.pinned.size(), 6U);
}

TEST_F(PinWorkerTest, ServesManyWhoAskAtTheSameTime) {
  constexpr std::uint64_t kAskers = 16;
  constexpr int kRounds = 5;
  std::vector<Inbox> inboxes(kAskers);
  const auto inbox_of = [&](ChannelId id) -> Inbox& {
    return inboxes[static_cast<std::size_t>(id)];
  };
  PinWorker sut(device_, settings_, load_, [&](PinReport report) {
    if (!std::holds_alternative<StoreProgress>(report)) {
      const auto id = std::visit([](const auto& r) { return r.channel; }, report);
      inbox_of(id).put(std::move(report));
    }
  });
  Reclaimer reclaimer(device_, settings_, load_, [&](StoreGivenBack report) {
    inbox_of(report.channel).put(std::move(report));
  });
  std::vector<std::thread> askers;
  for (std::uint64_t asker = 0; asker < kAskers; ++asker) {
    askers.emplace_back([&, id = ChannelId{asker}] {
      Inbox& inbox = inbox_of(id);
      for (int round = 0; round < kRounds; ++round) {
        sut.allocate(id, geometry_);
        PinReport allocated = inbox.take();
        auto& memory = std::get<StoreAllocated>(allocated).outcome;
        sut.prepare(id, std::move(std::get<FileDescriptor>(memory)), geometry_, kNoFeatures);
        PinReport prepared = inbox.take();
        auto& store = std::get<StorePrepared>(prepared).outcome;
        reclaimer.give_back(id, std::move(std::get<ChannelStore>(store)));
        EXPECT_TRUE(std::holds_alternative<StoreGivenBack>(inbox.take()));
      }
    });
  }
  for (std::thread& asker : askers) {
    asker.join();
  }
  EXPECT_EQ(device_.pinned_range_count(), 0U);
  EXPECT_EQ(device_.calls(VirtualTimeDevice::Call::pin),
            device_.calls(VirtualTimeDevice::Call::unpin));
  EXPECT_EQ(device_.calls(VirtualTimeDevice::Call::pin), kAskers * kRounds * 6);
}

}  // namespace
}  // namespace overlap
