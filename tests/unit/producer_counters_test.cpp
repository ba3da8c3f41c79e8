#include "producer/producer_counters.hpp"

#include "producer/producer.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <array>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

struct ProducerCountersTest : ::testing::Test {
  ProducerOptions options(std::chrono::nanoseconds spin) const {
    ProducerOptions made = small_channel(socket);
    made.spin = spin;
    return made;
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

void collect(Producer& producer, std::size_t count) {
  std::array<Result, 4> results;
  while (count > 0) {
    const std::size_t taken = producer.wait_any_many(results);
    for (std::size_t i = 0; i < taken; ++i) {
      ASSERT_TRUE(answers_its_tag(results[i]));
    }
    count -= taken;
  }
}

TEST_F(ProducerCountersTest, StartAtNothing) {
  FakeDaemon daemon(socket);
  const Producer sut(options(0ns));
  const ProducerCounters counters = sut.counters();
  EXPECT_EQ(counters.doorbells_rung, 0U);
  EXPECT_EQ(counters.semaphore_waits, 0U);
  EXPECT_EQ(counters.jobs_submitted, 0U);
  EXPECT_EQ(counters.results_collected, 0U);
}

TEST_F(ProducerCountersTest, ABusyPathRingsNoDoorbellAndWaitsOnNoSemaphore) {
  FakeDaemon daemon(socket, {{.sleepless = true}});
  Producer sut(options(1h));
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(submit_some(sut, 4, 0), 4U);
    ASSERT_NO_FATAL_FAILURE(collect(sut, 4));
  }
  for (std::uint64_t tag = 0; tag < 20; ++tag) {
    ASSERT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, tag))));
  }
  const ProducerCounters counters = sut.counters();
  EXPECT_EQ(counters.doorbells_rung, 0U);
  EXPECT_EQ(counters.semaphore_waits, 0U);
  EXPECT_EQ(counters.jobs_submitted, 100U);
  EXPECT_EQ(counters.results_collected, 100U);
}

TEST_F(ProducerCountersTest, ADaemonThatSleepsIsRungForOnceABatch) {
  // This one counts as asleep all the time.
  FakeDaemon daemon(socket);
  Producer sut(options(1h));
  for (int round = 0; round < 3; ++round) {
    ASSERT_EQ(submit_some(sut, 4, 0), 4U);
    ASSERT_NO_FATAL_FAILURE(collect(sut, 4));
  }
  EXPECT_EQ(sut.counters().doorbells_rung, 3U);
  EXPECT_EQ(sut.counters().semaphore_waits, 0U);
}

TEST_F(ProducerCountersTest, AWaitWithNothingToTakeIsOneOnTheSemaphore) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options(0ns));
  submit_filled(sut, 1);
  EXPECT_FALSE(sut.wait_any_for(1ms));
  EXPECT_GE(sut.counters().semaphore_waits, 1U);
  EXPECT_EQ(sut.counters().results_collected, 0U);
}

TEST_F(ProducerCountersTest, AJobThatIsSubmittedAgainCountsOnce) {
  FakeDaemon daemon(socket, {{.die_after = 0}, {}});
  Producer sut(options(0ns));
  EXPECT_TRUE(answers_its_tag(sut.wait(submit_filled(sut, 1))));
  EXPECT_EQ(sut.resume_count(), 1U);
  EXPECT_EQ(sut.counters().jobs_submitted, 1U);
  EXPECT_EQ(sut.counters().results_collected, 1U);
}

}  // namespace
}  // namespace overlap::testing
