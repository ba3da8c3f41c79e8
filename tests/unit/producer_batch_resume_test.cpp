#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <set>
#include <sstream>
#include <vector>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

struct ProducerBatchResumeTest : ::testing::Test {
  ProducerOptions options(std::uint32_t slot_count = 4) const {
    return small_channel(socket, slot_count);
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

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

TEST_F(ProducerBatchResumeTest, EveryJobIsAnsweredOnceWhenDaemonsDieUnderLoad) {
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

TEST_F(ProducerBatchResumeTest, SlotsAcquiredBeforeADeathAreSubmittedTogetherWithYoungerOnes) {
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

TEST_F(ProducerBatchResumeTest, TheMemoryOfADeadDaemonGoesWithTheLastHandleThatPointsIntoIt) {
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

TEST_F(ProducerBatchResumeTest, HandlesOfSeveralDaemonsOutliveTheirProducer) {
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

TEST_F(ProducerBatchResumeTest, HandsOverWhatHadComeBeforeTheChannelEnded) {
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

}  // namespace
}  // namespace overlap::testing
