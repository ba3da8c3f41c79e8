#include "producer/job_table.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

namespace overlap {
namespace {

void finish(JobTable& table, JobRecord& job) { table.finish(job, {}, 1); }

std::vector<JobRecord*> add_some(JobTable& table, std::size_t count) {
  std::vector<JobRecord*> jobs(count);
  for (JobRecord*& job : jobs) {
    job = &table.add();
  }
  return jobs;
}

void pass_through(JobTable& table) {
  JobRecord& job = table.add();
  table.mark_submitted(job);
  finish(table, job);
  table.remove(job);
}

std::vector<JobId> unfinished(JobTable& table) {
  std::vector<JobId> ids;
  table.for_each_unfinished([&](const JobRecord& job) { ids.push_back(job.id); });
  return ids;
}

/// Takes them out, so that the order of the whole list is seen.
std::vector<JobId> take_queued(JobTable& table) {
  std::vector<JobId> ids;
  while (JobRecord* const job = table.first_queued()) {
    ids.push_back(job->id);
    table.mark_submitted(*job);
  }
  return ids;
}

TEST(JobTable, HasNothingAtFirst) {
  JobTable sut;
  EXPECT_EQ(sut.find(JobId{1}), nullptr);
  EXPECT_EQ(sut.first_done(), nullptr);
  EXPECT_EQ(sut.first_submitted(), nullptr);
  EXPECT_EQ(sut.first_queued(), nullptr);
  EXPECT_EQ(sut.unfinished(), 0U);
  EXPECT_EQ(sut.results(), 0U);
}

TEST(JobTable, CountsIdsFromOneAndNeverAgain) {
  JobTable sut;
  JobRecord& first = sut.add();
  EXPECT_EQ(job_number(first.id), 1U);
  finish(sut, first);
  sut.remove(first);
  EXPECT_EQ(job_number(sut.add().id), 2U);
  EXPECT_EQ(sut.find(JobId{1}), nullptr);
}

TEST(JobTable, ARecordThatIsUsedAgainRemembersNothing) {
  JobTable sut;
  JobRecord& before = sut.add();
  before.cancel_wanted = before.cancel_written = true;
  before.deaths = before.deaths_alone = 3;
  JobTable::claim(before);
  finish(sut, before);
  sut.remove(before);
  const JobRecord& after = sut.add();
  EXPECT_EQ(&after, &before);
  EXPECT_EQ(after.phase, JobPhase::queued);
  EXPECT_FALSE(after.cancel_wanted || after.cancel_written);
  EXPECT_EQ(after.deaths + after.deaths_alone + after.claims, 0U);
}

TEST(JobTable, KnowsTheOrderOfCompletionAndOfSubmission) {
  JobTable sut;
  JobRecord& a = sut.add();
  const JobRecord& b = sut.add();
  JobRecord& c = sut.add();
  EXPECT_EQ(sut.first_done(), nullptr);
  finish(sut, c);
  finish(sut, a);
  EXPECT_EQ(sut.first_done(), &c);
  EXPECT_EQ(sut.first_submitted(), &a);
  sut.remove(c);
  EXPECT_EQ(sut.first_done(), &a);
  EXPECT_EQ(sut.unfinished(), 1U);
  EXPECT_EQ(sut.results(), 1U);
  EXPECT_NE(b.phase, JobPhase::done);
}

TEST(JobTable, KeepsBothOrdersWhenJobsInTheMiddleGo) {
  JobTable sut;
  const std::vector<JobRecord*> jobs = add_some(sut, 5);
  for (const std::size_t i : {3U, 1U, 0U, 4U}) {
    finish(sut, *jobs[i]);
  }
  sut.remove(*jobs[1]);
  EXPECT_EQ(sut.first_done(), jobs[3]);
  EXPECT_EQ(sut.first_submitted(), jobs[0]);
  sut.remove(*jobs[3]);
  EXPECT_EQ(sut.first_done(), jobs[0]);
  sut.remove(*jobs[0]);
  EXPECT_EQ(sut.first_done(), jobs[4]);
  EXPECT_EQ(sut.first_submitted(), jobs[2]);
  sut.remove(*jobs[4]);
  EXPECT_EQ(sut.first_done(), nullptr);
  finish(sut, *jobs[2]);
  EXPECT_EQ(sut.first_done(), jobs[2]);
}

TEST(JobTable, AClaimedJobIsNobodysNext) {
  JobTable sut;
  JobRecord& a = sut.add();
  const JobRecord& b = sut.add();
  JobTable::claim(a);
  finish(sut, a);
  EXPECT_EQ(sut.first_done(), nullptr);
  EXPECT_EQ(sut.first_submitted(), &b);
  JobTable::unclaim(a);
  EXPECT_EQ(sut.first_done(), &a);
}

TEST(JobTable, AJobIsClaimedUntilTheLastThreadHasStoppedWaiting) {
  JobTable sut;
  JobRecord& a = sut.add();
  JobRecord& b = sut.add();
  JobTable::claim(a);
  JobTable::claim(a);
  finish(sut, a);
  finish(sut, b);
  JobTable::unclaim(a);
  EXPECT_EQ(sut.first_done(), &b);
  JobTable::unclaim(a);
  EXPECT_EQ(sut.first_done(), &a);
}

TEST(JobTable, VisitsUnfinishedJobsInOrderAndLetsThemFinish) {
  JobTable sut;
  const JobId a = sut.add().id;
  JobRecord& b = sut.add();
  const JobId c = sut.add().id;
  finish(sut, b);
  std::vector<JobId> seen;
  sut.for_each_unfinished([&](JobRecord& job) {
    seen.push_back(job.id);
    finish(sut, job);
  });
  EXPECT_EQ(seen, (std::vector{a, c}));
  EXPECT_EQ(sut.unfinished(), 0U);
}

TEST(JobTable, FindsTheOldestQueuedJob) {
  JobTable sut;
  JobRecord& a = sut.add();
  JobRecord& b = sut.add();
  EXPECT_EQ(sut.first_queued(), &a);
  sut.mark_submitted(a);
  EXPECT_EQ(sut.first_queued(), &b);
  sut.mark_submitted(b);
  EXPECT_EQ(sut.first_queued(), nullptr);
}

TEST(JobTable, QueuesWhatIsUnfinishedAgainInSubmissionOrder) {
  JobTable sut;
  const std::vector<JobRecord*> jobs = add_some(sut, 5);
  sut.mark_submitted(*jobs[0]);
  sut.mark_submitted(*jobs[1]);
  sut.mark_submitted(*jobs[2]);
  finish(sut, *jobs[1]);
  // One that never got into a ring may end too, and goes out of the queue.
  finish(sut, *jobs[3]);
  sut.queue_unfinished();
  EXPECT_EQ(take_queued(sut), (std::vector{jobs[0]->id, jobs[2]->id, jobs[4]->id}));
  EXPECT_EQ(sut.first_done(), jobs[1]);
  EXPECT_EQ(unfinished(sut), (std::vector{jobs[0]->id, jobs[2]->id, jobs[4]->id}));
}

TEST(JobTable, AQueuedJobThatIsRemovedIsQueuedNoMore) {
  JobTable sut;
  JobRecord& a = sut.add();
  JobRecord& b = sut.add();
  sut.remove(a);
  EXPECT_EQ(sut.first_queued(), &b);
  EXPECT_EQ(sut.unfinished(), 1U);
}

TEST(JobTable, FindsJobsThatAreLeftForEverWhileMillionsPass) {
  JobTable sut;
  constexpr std::uint64_t kLeft = 300;
  constexpr std::uint64_t kPassing = 2'000'000;
  std::vector<JobRecord*> left(kLeft);
  for (JobRecord*& one : left) {
    one = &sut.add();
    for (std::uint64_t j = 0; j < kPassing / kLeft; ++j) {
      pass_through(sut);
    }
  }
  EXPECT_EQ(sut.unfinished(), kLeft);
  EXPECT_EQ(sut.results(), 0U);
  EXPECT_EQ(sut.first_submitted(), left.front());
  for (std::uint64_t i = 0; i < kLeft; ++i) {
    const JobId id{1 + i * (1 + kPassing / kLeft)};
    ASSERT_EQ(left[i]->id, id);
    ASSERT_EQ(sut.find(id), left[i]);
    ASSERT_EQ(sut.find(JobId{job_number(id) + 1}), nullptr);
  }
  std::set<const JobRecord*> records(left.begin(), left.end());
  EXPECT_EQ(records.size(), kLeft);
}

TEST(JobTable, GrowsWithoutMovingARecord) {
  JobTable sut;
  std::vector<JobRecord*> jobs(5000);
  for (std::uint64_t i = 0; i < 5000; ++i) {
    jobs[i] = &sut.add();
    jobs[i]->tag = i;
  }
  for (std::uint64_t i = 0; i < 5000; ++i) {
    ASSERT_EQ(sut.find(JobId{i + 1}), jobs[i]);
    ASSERT_EQ(jobs[i]->tag, i);
  }
}

TEST(JobTable, TakesARecordOfThoseThatWereReserved) {
  JobTable sut;
  sut.reserve(3000);
  const JobRecord* const first = &sut.add();
  for (int i = 1; i < 3000; ++i) {
    // One block of memory, made by `reserve`.
    ASSERT_EQ(&sut.add(), first + i);
  }
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
