#include "daemon/control/reclaimer.hpp"

#include "tests/unit/control_fixture.hpp"
#include "tests/unit/pin_inbox.hpp"

#include <gtest/gtest.h>

#include <pthread.h>

#include <chrono>
#include <csignal>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <variant>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::eventually;

/// Ranges of a store of `store`.
constexpr std::size_t kRanges = 6;

class ReclaimerTest : public ::testing::Test {
 protected:
  ReclaimerTest() {
    settings_.pin_chunk_bytes = 4096;
    settings_.pin_gap = 24h;
    settings_.reclaim_after = 24h;
  }

  [[nodiscard]] ChannelStore store() {
    PrepareTimes times;
    std::string warning;
    const PrepareSteps steps{[] { return true; }, [](std::uint64_t) {}};
    return std::get<ChannelStore>(prepare_store(std::get<FileDescriptor>(allocate_store(geometry_)),
                                                geometry_, 0, device_, settings_, steps, times,
                                                warning));
  }
  void run_long_batch() {
    load_.longest_batch_ns = 1'000'000'000;
    load_.batches_in_flight = 1;
  }
  /// Waits until the reclaimer has looked often enough to have gone on if it meant to.
  [[nodiscard]] static bool is_postponing(const Reclaimer& sut) {
    const std::uint64_t before = sut.postponed_count();
    return eventually([&] { return sut.postponed_count() >= before + 3; });
  }
  [[nodiscard]] StoreGivenBack take_given_back(ChannelId id) {
    PinReport report = inbox_.take();
    EXPECT_EQ(std::get<StoreGivenBack>(report).channel, id);
    return std::get<StoreGivenBack>(std::move(report));
  }

  ChannelGeometry geometry_ =
      std::get<ChannelGeometry>(plan_geometry({3, 4096, 4096, 0}, {1024, 1U << 20U, 0, 1U << 26U}));
  testing::SharedDevice device_;
  StoreSettings settings_;
  EngineLoad load_;
  testing::Inbox inbox_;
  std::function<void(StoreGivenBack)> report_ = [this](StoreGivenBack report) {
    inbox_.put(std::move(report));
  };
};

TEST_F(ReclaimerTest, UnpinsAtOnceWhereNobodyIsBusy) {
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{7}, store());
  EXPECT_EQ(take_given_back(ChannelId{7}).warning, "");
  EXPECT_EQ(device_.pinned_range_count(), 0U);
  EXPECT_EQ(sut.postponed_count(), 0U);
}

TEST_F(ReclaimerTest, TakesMemoryThatWasNeverPinned) {
  Reclaimer sut(device_, settings_, load_, report_);
  run_long_batch();
  const std::size_t before = testing::open_descriptor_count();
  ChannelStore bare;
  bare.memory = std::get<FileDescriptor>(allocate_store(geometry_));
  sut.give_back(ChannelId{1}, std::move(bare));
  // Nothing to unpin, so nothing to wait for.
  static_cast<void>(take_given_back(ChannelId{1}));
  EXPECT_EQ(testing::open_descriptor_count(), before);
}

TEST_F(ReclaimerTest, UnpinsNothingWhileALongBatchRuns) {
  run_long_batch();
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{1}, store());
  ASSERT_TRUE(is_postponing(sut));
  EXPECT_EQ(device_.calls(Call::unpin), 0U);
  load_.batches_in_flight = 0;
  static_cast<void>(take_given_back(ChannelId{1}));
}

TEST_F(ReclaimerTest, WaitsAgainForALongBatchThatBeganInTheMiddle) {
  settings_.pin_gap = 0ns;
  Reclaimer sut(device_, settings_, load_, report_);
  device_.unpin_gate.close();
  sut.give_back(ChannelId{1}, store());
  ASSERT_TRUE(device_.unpin_gate.await_visitor());
  run_long_batch();
  device_.unpin_gate.open();
  ASSERT_TRUE(is_postponing(sut));
  EXPECT_EQ(device_.calls(Call::unpin), 1U);
  load_.batches_in_flight = 0;
  static_cast<void>(take_given_back(ChannelId{1}));
  EXPECT_EQ(device_.calls(Call::unpin), kRanges);
}

TEST_F(ReclaimerTest, MakesGapsWhileJobsRunUntilItIsToFinish) {
  load_.batches_in_flight = 1;
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{1}, store());
  // A day until the second range.
  ASSERT_TRUE(eventually([&] { return device_.calls(Call::unpin) == 1; }));
  sut.finish();
  static_cast<void>(take_given_back(ChannelId{1}));
  EXPECT_EQ(device_.calls(Call::unpin), kRanges);
}

TEST_F(ReclaimerTest, GoesOnWithShortBatchesInFlight) {
  settings_.pin_gap = 0ns;
  load_.batches_in_flight = 4;
  load_.longest_batch_ns = 100'000;
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{1}, store());
  static_cast<void>(take_given_back(ChannelId{1}));
  EXPECT_EQ(sut.postponed_count(), 0U);
}

TEST_F(ReclaimerTest, HurriesWithAllThatIsThereWhenSomebodyNeedsTheRoom) {
  settings_.pin_gap = 0ns;
  run_long_batch();
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{1}, store());
  sut.give_back(ChannelId{2}, store());
  ASSERT_TRUE(is_postponing(sut));
  sut.hurry();
  static_cast<void>(take_given_back(ChannelId{1}));
  static_cast<void>(take_given_back(ChannelId{2}));
  EXPECT_EQ(device_.pinned_range_count(), 0U);
  // The hurry is over with what was there.
  sut.give_back(ChannelId{3}, store());
  ASSERT_TRUE(is_postponing(sut));
  EXPECT_EQ(device_.pinned_range_count(), kRanges);
}

TEST_F(ReclaimerTest, WaitsForABetterMomentNoLongerThanItMay) {
  settings_.pin_gap = 0ns;
  settings_.reclaim_after = 0ns;
  run_long_batch();
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{1}, store());
  static_cast<void>(take_given_back(ChannelId{1}));
  EXPECT_EQ(sut.postponed_count(), 0U);
}

TEST_F(ReclaimerTest, KeepsNoMoreStoresWaitingThanAProcessCanMap) {
  settings_.pin_gap = 0ns;
  run_long_batch();
  Reclaimer sut(device_, settings_, load_, report_);
  for (std::uint64_t id = 1; id <= 257; ++id) {
    sut.give_back(ChannelId{id}, store());
  }
  static_cast<void>(take_given_back(ChannelId{1}));
  ASSERT_TRUE(is_postponing(sut));
  EXPECT_EQ(device_.pinned_range_count(), 256 * kRanges);
}

TEST_F(ReclaimerTest, ReportsAFailedUnpinning) {
  device_.fail(Call::unpin, 1, {DeviceOutcome::failed, 713});
  Reclaimer sut(device_, settings_, load_, report_);
  sut.give_back(ChannelId{1}, store());
  EXPECT_NE(take_given_back(ChannelId{1}).warning.find("713"), std::string::npos);
}

TEST_F(ReclaimerTest, GivesEverythingBackWhenItGoes) {
  run_long_batch();
  {
    Reclaimer sut(device_, settings_, load_, report_);
    for (std::uint64_t id = 1; id <= 5; ++id) {
      sut.give_back(ChannelId{id}, store());
    }
  }
  for (std::uint64_t id = 1; id <= 5; ++id) {
    ASSERT_FALSE(inbox_.is_empty());
    static_cast<void>(take_given_back(ChannelId{id}));
  }
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

TEST_F(ReclaimerTest, WorksOnAThreadOfItsOwnWithEverySignalBlocked) {
  std::string name(16, '\0');
  bool blocked = false;
  Reclaimer sut(device_, settings_, load_, [&](StoreGivenBack report) {
    pthread_getname_np(pthread_self(), name.data(), name.size());
    sigset_t mask;
    pthread_sigmask(SIG_SETMASK, nullptr, &mask);
    blocked = sigismember(&mask, SIGTERM) == 1 && sigismember(&mask, SIGHUP) == 1;
    inbox_.put(std::move(report));
  });
  sut.give_back(ChannelId{1}, store());
  static_cast<void>(take_given_back(ChannelId{1}));
  EXPECT_STREQ(name.c_str(), "reclaimer");
  EXPECT_TRUE(blocked);
}

}  // namespace
}  // namespace overlap
