#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/patience.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <atomic>
#include <fstream>
#include <mutex>
#include <set>
#include <sstream>
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

/// Fills what slots there are with the payloads of the tags from `first_tag` on.
std::vector<Submission> filled(std::span<Slot> slots, std::uint64_t first_tag) {
  std::vector<Submission> submissions;
  for (Slot& slot : slots) {
    const std::uint64_t tag = first_tag + submissions.size();
    fill(slot, tag);
    submissions.push_back({std::move(slot), tag, {}});
  }
  return submissions;
}

/// Submits as many jobs as there are free slots, at most `most`.
std::size_t submit_some(Producer& producer, std::size_t most, std::uint64_t first_tag) {
  std::vector<Slot> slots(most);
  const std::size_t count = producer.try_acquire_many(slots);
  std::vector<Submission> submissions = filled(std::span(slots).first(count), first_tag);
  std::vector<JobId> ids(count);
  producer.submit_many(submissions, ids);
  return count;
}

/// How many channels are mapped here, by whichever side.
std::size_t mapped_channels() {
  std::ifstream maps("/proc/self/maps");
  std::set<std::string> inodes;
  for (std::string line; std::getline(maps, line);) {
    std::istringstream fields(line);
    std::string range, rights, offset, device, inode, path;
    fields >> range >> rights >> offset >> device >> inode >> path;
    if (path.starts_with("/memfd:")) {
      inodes.insert(inode);
    }
  }
  return inodes.size();
}

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
  std::vector<std::thread> waiters;
  std::atomic<int> served{0};
  for (int i = 0; i < 3; ++i) {
    waiters.emplace_back([&] {
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
  FakeDaemon daemon(socket, {{.sleepless = true}});
  Producer sut(options(7));
  std::vector<Result> results(5);
  std::set<std::uint64_t> tags;
  std::uint64_t submitted = 0;
  while (tags.size() < 700) {
    submitted += submit_some(sut, std::min<std::size_t>(7, 700 - submitted), submitted);
    const std::size_t count = sut.wait_any_many(results);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(answers_its_tag(results[i]));
      ASSERT_TRUE(tags.insert(results[i].tag()).second);
    }
    sut.release_many(std::span(results).first(count));
  }
  EXPECT_EQ(submitted, 700U);
}

TEST_F(ProducerBatchTest, ManyThreadsTakeEveryResultExactlyOnce) {
  FakeDaemon daemon(socket);
  Producer sut(options(8));
  constexpr std::uint64_t kJobs = 600;
  std::mutex mutex;
  std::set<std::uint64_t> tags;
  std::uint64_t taken = 0;
  std::vector<std::thread> takers;
  for (int thread = 0; thread < 3; ++thread) {
    takers.emplace_back([&] {
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

TEST_F(ProducerBatchTest, EveryJobIsAnsweredOnceWhenDaemonsDieUnderLoad) {
  FakeDaemon daemon(socket, {{.die_after = 5}, {.die_after = 11}, {.die_after = 17}, {}});
  Producer sut(options());
  constexpr std::uint64_t kJobs = 120;
  std::vector<Result> results(3);
  std::set<std::uint64_t> tags;
  std::uint64_t submitted = 0;
  while (tags.size() < kJobs) {
    submitted += submit_some(sut, std::min<std::size_t>(4, kJobs - submitted), submitted);
    const std::size_t count = sut.wait_any_many_for(results, 10ms);
    for (std::size_t i = 0; i < count; ++i) {
      ASSERT_TRUE(answers_its_tag(results[i])) << results[i].status_text();
      ASSERT_TRUE(tags.insert(results[i].tag()).second);
    }
    sut.release_many(std::span(results));
  }
  EXPECT_EQ(sut.resume_count(), 3U);
}

TEST_F(ProducerBatchTest, SlotsAcquiredBeforeADeathAreSubmittedTogetherWithYoungerOnes) {
  FakeDaemon daemon(socket, {{.die_after = 0}, {.die_after = 1}, {}});
  Producer sut(options(5));
  std::vector<Slot> slots(4);
  ASSERT_EQ(sut.try_acquire_many(std::span(slots).first(2)), 2U);
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 99))));
  ASSERT_EQ(sut.resume_count(), 1U);
  ASSERT_EQ(sut.try_acquire_many(std::span(slots).last(2)), 2U);
  std::vector<Submission> submissions = filled(slots, 0);
  std::vector<JobId> ids(4);
  sut.submit_many(submissions, ids);
  for (std::uint64_t tag = 0; tag < 4; ++tag) {
    const Result result = sut.wait(ids[tag]);
    EXPECT_EQ(result.tag(), tag);
    EXPECT_TRUE(answers_its_tag(result));
  }
  EXPECT_EQ(sut.resume_count(), 2U);
  std::vector<Slot> all(6);
  EXPECT_EQ(sut.try_acquire_many(all), 5U);
}

TEST_F(ProducerBatchTest, TheMemoryOfADeadDaemonGoesWithTheLastHandleThatPointsIntoIt) {
  FakeDaemon daemon(socket, {{.die_after = 2}, {}});
  Producer sut(options(4));
  std::vector<Result> results(3);
  results[0] = sut.wait(submit_filled(sut, 1));
  results[1] = sut.wait(submit_filled(sut, 2));
  Slot slot = sut.acquire();
  results[2] = sut.wait(submit_filled(sut, 3));
  ASSERT_EQ(sut.resume_count(), 1U);
  for (const Result& result : results) {
    EXPECT_TRUE(answers_its_tag(result));
  }
  EXPECT_EQ(mapped_channels(), 2U);
  sut.release_many(std::span(results));
  EXPECT_EQ(mapped_channels(), 2U);
  slot.release();
  EXPECT_EQ(mapped_channels(), 1U);
  std::vector<Slot> all(5);
  EXPECT_EQ(sut.try_acquire_many(all), 4U);
}

TEST_F(ProducerBatchTest, HandlesOfSeveralDaemonsOutliveTheirProducer) {
  FakeDaemon daemon(socket, {{.die_after = 1}, {}});
  std::vector<Result> results(2);
  {
    Producer sut(options(3));
    results[0] = sut.wait(submit_filled(sut, 1));
    results[1] = sut.wait(submit_filled(sut, 2));
    submit_some(sut, 1, 3);
    sut.flush();
  }
  daemon.await_ended(2);
  EXPECT_TRUE(answers_its_tag(results[0]));
  EXPECT_TRUE(answers_its_tag(results[1]));
  results.pop_back();
  EXPECT_TRUE(answers_its_tag(results[0]));
  results.clear();
  EXPECT_EQ(mapped_channels(), 0U);
}

TEST_F(ProducerBatchTest, HandsOverWhatHadComeBeforeTheChannelEnded) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  ASSERT_EQ(submit_some(sut, 3, 1), 3U);
  daemon.await_taken(3);
  daemon.answer_oldest(2);
  daemon.close(CloseReason::limit, "enough");
  std::vector<Result> results(4);
  std::size_t count = 0;
  while (count < 2) {
    count += sut.wait_any_many(std::span(results).subspan(count));
  }
  EXPECT_TRUE(answers_its_tag(results[0]) && answers_its_tag(results[1]));
  std::vector<Result> more(1);
  EXPECT_THROW(static_cast<void>(sut.wait_any_many(more)), ChannelClosed);
  EXPECT_THROW(static_cast<void>(sut.try_any_many(more)), ChannelClosed);
  std::vector<Slot> slots(1);
  EXPECT_THROW(static_cast<void>(sut.try_acquire_many(slots)), ChannelClosed);
  sut.release_many(std::span(results));
  EXPECT_FALSE(results[0] || results[1]);
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
