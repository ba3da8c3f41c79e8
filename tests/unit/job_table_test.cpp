#include "producer/job_table.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace overlap {
namespace {

void finish(JobTable& table, JobId id) { table.finish(id, *table.find(id), {}, 1); }

TEST(JobTable, CountsIdsFromOneAndNeverAgain) {
  JobTable sut;
  EXPECT_EQ(job_number(sut.add({})), 1U);
  finish(sut, JobId{1});
  static_cast<void>(sut.remove(JobId{1}));
  EXPECT_EQ(job_number(sut.add({})), 2U);
  EXPECT_EQ(sut.find(JobId{1}), nullptr);
}

TEST(JobTable, KnowsTheOrderOfCompletionAndOfSubmission) {
  JobTable sut;
  const JobId a = sut.add({});
  const JobId b = sut.add({});
  const JobId c = sut.add({});
  EXPECT_EQ(sut.first_done(), std::nullopt);
  finish(sut, c);
  finish(sut, a);
  EXPECT_EQ(sut.first_done(), c);
  EXPECT_EQ(sut.first_submitted(), a);
  static_cast<void>(sut.remove(c));
  EXPECT_EQ(sut.first_done(), a);
  EXPECT_EQ(sut.unfinished(), 1U);
  EXPECT_EQ(sut.results(), 1U);
  EXPECT_FALSE(sut.is_done(b));
}

TEST(JobTable, AClaimedJobIsNobodysNext) {
  JobTable sut;
  const JobId a = sut.add({});
  const JobId b = sut.add({});
  sut.claim(*sut.find(a));
  finish(sut, a);
  EXPECT_EQ(sut.first_done(), std::nullopt);
  EXPECT_EQ(sut.first_submitted(), b);
  sut.unclaim(*sut.find(a));
  EXPECT_EQ(sut.first_done(), a);
}

TEST(JobTable, VisitsUnfinishedJobsInOrderAndLetsThemFinish) {
  JobTable sut;
  const JobId a = sut.add({});
  const JobId b = sut.add({});
  const JobId c = sut.add({});
  finish(sut, b);
  std::vector<JobId> seen;
  sut.for_each_unfinished([&](JobId id, JobRecord& job) {
    seen.push_back(id);
    sut.finish(id, job, {}, 1);
  });
  EXPECT_EQ(seen, (std::vector{a, c}));
  EXPECT_EQ(sut.unfinished(), 0U);
}

TEST(JobTable, FindsTheOldestQueuedJob) {
  JobTable sut;
  const JobId a = sut.add({});
  const JobId b = sut.add({});
  EXPECT_EQ(sut.first_queued(), a);
  sut.find(a)->phase = JobPhase::submitted;
  EXPECT_EQ(sut.first_queued(), b);
  sut.find(b)->phase = JobPhase::submitted;
  EXPECT_EQ(sut.first_queued(), std::nullopt);
}

TEST(JobTable, IsolatesFromTheSecondDeathAndLosesAfterTwoAlone) {
  JobRecord sut;
  EXPECT_FALSE(count_death(sut, true));
  EXPECT_FALSE(sut.isolated());
  EXPECT_FALSE(count_death(sut, true));
  EXPECT_TRUE(sut.isolated());
  EXPECT_FALSE(count_death(sut, true));
  EXPECT_TRUE(count_death(sut, true));
}

TEST(JobTable, ADeathThatDidNotFindItIssuedCountsForNothing) {
  JobRecord sut;
  for (int i = 0; i < 10; ++i) {
    EXPECT_FALSE(count_death(sut, false));
  }
  EXPECT_FALSE(sut.isolated());
}

}  // namespace
}  // namespace overlap
