#include "daemon/control/engine_quiet.hpp"

#include <gtest/gtest.h>

namespace overlap {
namespace {

constexpr std::uint64_t kNow = 1'000'000'000;

TEST(EngineQuiet, IsNotBusyBeforeTheFirstJob) {
  const EngineLoad sut;
  EXPECT_FALSE(is_busy(sut, 1));
  EXPECT_FALSE(runs_long_batch(sut, 1));
}

TEST(EngineQuiet, IsBusyWithABatchInFlight) {
  EngineLoad sut;
  sut.batches_in_flight = 1;
  EXPECT_TRUE(is_busy(sut, kNow));
}

TEST(EngineQuiet, IsBusyForAWhileAfterTheLastIssue) {
  EngineLoad sut;
  sut.last_issue_ns = kNow;
  EXPECT_TRUE(is_busy(sut, kNow));
  EXPECT_TRUE(is_busy(sut, kNow + kRecentIssueNs - 1));
  EXPECT_FALSE(is_busy(sut, kNow + kRecentIssueNs));
}

TEST(EngineQuiet, IsBusyWhereSomethingWasIssuedAfterTheClockWasRead) {
  EngineLoad sut;
  sut.last_issue_ns = kNow;
  EXPECT_TRUE(is_busy(sut, kNow - 1));
}

TEST(EngineQuiet, RunsALongBatchFromTheBoundOnWhileItIsInFlight) {
  EngineLoad sut;
  sut.batches_in_flight = 1;
  sut.longest_batch_ns = kLongBatchNs - 1;
  EXPECT_FALSE(runs_long_batch(sut, kNow));
  sut.longest_batch_ns = kLongBatchNs;
  EXPECT_TRUE(runs_long_batch(sut, kNow));
  sut.batches_in_flight = 0;
  EXPECT_FALSE(runs_long_batch(sut, kNow));
}

TEST(EngineQuiet, RunsALongBatchWhereOneTakesLongerThanExpected) {
  EngineLoad sut;
  sut.batches_in_flight = 1;
  sut.longest_batch_ns = 1;
  sut.last_issue_ns = kNow;
  EXPECT_FALSE(runs_long_batch(sut, kNow - 1));
  EXPECT_FALSE(runs_long_batch(sut, kNow + kLongBatchNs - 1));
  EXPECT_TRUE(runs_long_batch(sut, kNow + kLongBatchNs));
  sut.batches_in_flight = 0;
  EXPECT_FALSE(runs_long_batch(sut, kNow + kLongBatchNs));
}

}  // namespace
}  // namespace overlap
