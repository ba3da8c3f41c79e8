#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/patience.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

struct ProducerBatchTest : ::testing::Test {
  ProducerOptions options(std::uint32_t slot_count = 4) const {
    return small_channel(socket, slot_count);
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_F(ProducerBatchTest, DoesNothingOverAnEmptySpan) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  EXPECT_EQ(sut.try_acquire_many({}), 0U);
  sut.submit_many({}, {});
  EXPECT_EQ(sut.wait_any_many({}), 0U);
  EXPECT_EQ(sut.wait_any_many_for({}, 1h), 0U);
  EXPECT_EQ(sut.try_any_many({}), 0U);
  sut.release_many(std::span<Slot>());
  sut.release_many(std::span<Result>());
  EXPECT_EQ(sut.counters().jobs_submitted, 0U);
}

TEST_F(ProducerBatchTest, RunsOneJob) {
  FakeDaemon daemon(socket);
  Producer sut(options(1));
  ASSERT_EQ(submit_some(sut, 1, 7), 1U);
  std::vector<Result> results(1);
  ASSERT_EQ(sut.wait_any_many(results), 1U);
  EXPECT_EQ(results[0].tag(), 7U);
  EXPECT_TRUE(answers_its_tag(results[0]));
  sut.release_many(std::span(results));
  EXPECT_FALSE(results[0]);
  EXPECT_TRUE(sut.try_acquire());
}

TEST_F(ProducerBatchTest, TakesNoMoreSlotsThanThereAre) {
  FakeDaemon daemon(socket);
  Producer sut(options(3));
  std::vector<Slot> slots(5);
  ASSERT_EQ(sut.try_acquire_many(slots), 3U);
  EXPECT_EQ((std::set{slots[0].index(), slots[1].index(), slots[2].index()}).size(), 3U);
  EXPECT_FALSE(slots[3] || slots[4]);
  // Nothing is free now: they stay as they are.
  EXPECT_EQ(sut.try_acquire_many(slots), 0U);
  EXPECT_TRUE(slots[0] && slots[1] && slots[2]);
}

TEST_F(ProducerBatchTest, TakesReleasedSlotsAgainInTheOrderTheyHad) {
  FakeDaemon daemon(socket);
  Producer sut(options(4));
  const auto indices = [](const std::vector<Slot>& slots) {
    std::vector<std::uint32_t> all;
    for (const Slot& slot : slots) {
      all.push_back(slot.index());
    }
    return all;
  };
  std::vector<Slot> slots(4);
  ASSERT_EQ(sut.try_acquire_many(slots), 4U);
  const std::vector<std::uint32_t> before = indices(slots);
  for (int round = 0; round < 2; ++round) {
    sut.release_many(std::span(slots));
    ASSERT_EQ(sut.try_acquire_many(slots), 4U);
    EXPECT_EQ(indices(slots), before);
  }
}

TEST_F(ProducerBatchTest, TakesNoMoreSlotsThanWereAskedFor) {
  FakeDaemon daemon(socket);
  Producer sut(options(4));
  std::vector<Slot> slots(3);
  ASSERT_EQ(sut.try_acquire_many(slots), 3U);
  EXPECT_TRUE(sut.try_acquire());
}

TEST_F(ProducerBatchTest, ReleasesTheSlotInWhosePlaceItPutsAnother) {
  FakeDaemon daemon(socket);
  FakeDaemon other_daemon(folder.path("other.sock"));
  Producer other(small_channel(folder.path("other.sock"), 1));
  Producer sut(options(3));
  std::vector<Slot> slots(2);
  slots[0] = sut.acquire();
  slots[1] = other.acquire();
  ASSERT_EQ(sut.try_acquire_many(slots), 2U);
  EXPECT_NE(slots[0].index(), slots[1].index());
  EXPECT_TRUE(other.try_acquire());
  EXPECT_TRUE(sut.try_acquire());
}

TEST_F(ProducerBatchTest, GivesTheIdsInOrder) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  std::vector<Slot> slots(4);
  ASSERT_EQ(sut.try_acquire_many(slots), 4U);
  std::vector<Submission> submissions = filled(slots, 0);
  std::vector<JobId> ids(6, JobId{77});
  sut.submit_many(submissions, ids);
  EXPECT_EQ(ids, (std::vector{JobId{1}, JobId{2}, JobId{3}, JobId{4}, JobId{77}, JobId{77}}));
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    EXPECT_FALSE(submissions[tag].slot);
    const Result result = sut.wait(ids[tag]);
    EXPECT_EQ(result.tag(), tag);
    EXPECT_TRUE(answers_its_tag(result));
  }
}

TEST_F(ProducerBatchTest, SubmitsAllOrNothing) {
  FakeDaemon daemon(socket);
  Producer sut(options(3));
  std::vector<Slot> slots(3);
  ASSERT_EQ(sut.try_acquire_many(slots), 3U);
  std::vector<Submission> submissions = filled(slots, 0);
  std::vector<JobId> ids(3);
  EXPECT_THROW(sut.submit_many(submissions, std::span(ids).first(2)), InvalidSubmission);
  submissions[2].options.pipeline_index = 9;
  EXPECT_THROW(sut.submit_many(submissions, ids), InvalidSubmission);
  EXPECT_EQ(sut.counters().jobs_submitted, 0U);
  submissions[2].options.pipeline_index = 0;
  sut.submit_many(submissions, ids);
  EXPECT_EQ(ids[0], JobId{1});
}

TEST_F(ProducerBatchTest, GivesResultsInTheOrderOfCompletionAndNoMoreThanWereAskedFor) {
  FakeDaemon daemon(socket, {{.reversed_group = 4}});
  Producer sut(options());
  ASSERT_EQ(submit_some(sut, 4, 1), 4U);
  sut.flush();
  std::vector<Result> first(3);
  ASSERT_EQ(sut.wait_any_many(first), 3U);
  EXPECT_EQ(first[0].tag(), 4U);
  EXPECT_EQ(first[1].tag(), 3U);
  EXPECT_EQ(first[2].tag(), 2U);
  std::vector<Result> rest(3);
  ASSERT_EQ(sut.try_any_many(rest), 1U);
  EXPECT_EQ(rest[0].tag(), 1U);
  EXPECT_FALSE(rest[1] || rest[2]);
}

TEST_F(ProducerBatchTest, ReleasesTheResultInWhosePlaceItPutsAnother) {
  FakeDaemon daemon(socket);
  FakeDaemon other_daemon(folder.path("other.sock"));
  Producer other(small_channel(folder.path("other.sock"), 1));
  Producer sut(options(2));
  ASSERT_EQ(submit_some(sut, 2, 1), 2U);
  std::vector<Result> results(1);
  results[0] = other.wait(submit_filled(other, 9));
  ASSERT_EQ(sut.wait_any_many(results), 1U);
  EXPECT_EQ(results[0].tag(), 1U);
  EXPECT_TRUE(other.try_acquire());
  EXPECT_FALSE(sut.try_acquire());
  ASSERT_EQ(sut.wait_any_many(results), 1U);
  EXPECT_EQ(results[0].tag(), 2U);
  EXPECT_TRUE(answers_its_tag(results[0]));
  EXPECT_TRUE(sut.try_acquire());
}

TEST_F(ProducerBatchTest, TimesOutWithoutCancelling) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  ASSERT_EQ(submit_some(sut, 2, 1), 2U);
  std::vector<Result> results(4);
  EXPECT_EQ(sut.try_any_many(results), 0U);
  EXPECT_EQ(sut.wait_any_many_for(results, 1ms), 0U);
  daemon.await_taken(2);
  daemon.answer_oldest(1);
  ASSERT_EQ(sut.wait_any_many_for(results, kPatience), 1U);
  EXPECT_EQ(results[0].tag(), 1U);
  EXPECT_TRUE(answers_its_tag(results[0]));
}

TEST_F(ProducerBatchTest, LeavesAJobThatSomebodyWaitsForById) {
  FakeDaemon daemon(socket, {{.hold = true}});
  ProducerOptions sleeping_at_once = options();
  sleeping_at_once.spin = 0ns;
  Producer sut(sleeping_at_once);
  ASSERT_EQ(submit_some(sut, 2, 1), 2U);
  std::thread waiter([&] { EXPECT_EQ(sut.wait(JobId{1}).tag(), 1U); });
  // It sleeps, so it has claimed its job.
  ASSERT_TRUE(eventually([&] { return sut.counters().semaphore_waits > 0; }));
  daemon.await_taken(2);
  daemon.answer_held();
  std::vector<Result> results(4);
  ASSERT_EQ(sut.wait_any_many(results), 1U);
  EXPECT_EQ(results[0].tag(), 2U);
  waiter.join();
  EXPECT_EQ(sut.try_any_many(results), 0U);
}

TEST_F(ProducerBatchTest, ReleasesWhatIsThereAndSkipsWhatIsEmpty) {
  FakeDaemon daemon(socket);
  FakeDaemon other_daemon(folder.path("other.sock"));
  Producer other(small_channel(folder.path("other.sock"), 1));
  Producer sut(options(2));
  std::vector<Slot> slots(4);
  slots[1] = sut.acquire();
  slots[2] = other.acquire();
  slots[3] = sut.acquire();
  sut.release_many(std::span(slots));
  EXPECT_FALSE(slots[1] || slots[2] || slots[3]);
  EXPECT_TRUE(other.try_acquire());
  EXPECT_EQ(sut.try_acquire_many(slots), 2U);
}

TEST_F(ProducerBatchTest, ReleasingManyWakesEveryThreadThatWaitsForASlot) {
  FakeDaemon daemon(socket);
  Producer sut(options(3));
  std::vector<Slot> slots(3);
  ASSERT_EQ(sut.try_acquire_many(slots), 3U);
  std::vector<std::thread> waiters(3);
  std::atomic<int> served{0};
  for (std::thread& waiter : waiters) {
    waiter = std::thread([&] {
      const auto slot = sut.acquire_for(kPatience);
      served += slot ? 1 : 0;
      // Held until all have one: none is served by another's release.
      EXPECT_TRUE(eventually([&] { return served == 3; }));
    });
  }
  sut.release_many(std::span(slots));
  for (std::thread& waiter : waiters) {
    waiter.join();
  }
  EXPECT_EQ(served, 3);
}

TEST_F(ProducerBatchTest, RunsManyMoreJobsThanSlotsAndRingEntries) {
  FakeDaemon daemon(socket);
  Producer sut(options(7));
  std::vector<Result> results(5);
  std::set<std::uint64_t> tags;
  std::uint64_t submitted = 0;
  while (tags.size() < 350) {
    submitted += submit_some(sut, std::min<std::size_t>(7, 350 - submitted), submitted);
    const std::size_t count = sut.wait_any_many(results);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(answers_its_tag(results[i]));
      ASSERT_TRUE(tags.insert(results[i].tag()).second);
    }
    sut.release_many(std::span(results).first(count));
  }
  EXPECT_EQ(submitted, 350U);
}

TEST_F(ProducerBatchTest, ManyThreadsTakeEveryResultExactlyOnce) {
  FakeDaemon daemon(socket);
  Producer sut(options(8));
  constexpr std::uint64_t kJobs = 600;
  std::mutex mutex;
  std::set<std::uint64_t> tags;
  std::uint64_t taken = 0;
  std::vector<std::thread> takers(3);
  for (std::thread& taker : takers) {
    taker = std::thread([&] {
      std::vector<Result> results(3);
      for (bool more = true; more;) {
        const std::size_t count = sut.wait_any_many_for(results, 1ms);
        const std::lock_guard lock(mutex);
        for (std::size_t i = 0; i < count; ++i) {
          EXPECT_TRUE(answers_its_tag(results[i]));
          tags.insert(results[i].tag());
        }
        sut.release_many(std::span(results));
        taken += count;
        more = taken < kJobs;
      }
    });
  }
  for (std::uint64_t submitted = 0; submitted < kJobs;) {
    submitted += submit_some(sut, std::min<std::size_t>(5, kJobs - submitted), submitted);
  }
  for (std::thread& taker : takers) {
    taker.join();
  }
  EXPECT_EQ(taken, kJobs);
  EXPECT_EQ(tags.size(), kJobs);
}

TEST_F(ProducerBatchTest, APollLoopGetsEveryResult) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  const int fd = sut.completion_fd();
  std::vector<Result> results(3);
  std::set<std::uint64_t> tags;
  std::uint64_t submitted = 0;
  while (tags.size() < 100) {
    submitted += submit_some(sut, std::min<std::size_t>(4, 100 - submitted), submitted);
    while (const std::size_t count = sut.try_any_many(results)) {
      for (std::size_t i = 0; i < count; ++i) {
        ASSERT_TRUE(tags.insert(results[i].tag()).second);
      }
      sut.release_many(std::span(results).first(count));
    }
    pollfd watched{fd, POLLIN, 0};
    if (tags.size() < submitted) {
      ASSERT_EQ(::poll(&watched, 1, 30'000), 1);
    }
  }
}

}  // namespace
}  // namespace overlap::testing
