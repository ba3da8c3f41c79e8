#include "producer/producer.hpp"
#include "shared/monotonic_clock.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/producer_payload.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <pthread.h>
#include <sys/epoll.h>
#include <algorithm>
#include <atomic>
#include <csignal>
#include <mutex>
#include <set>
#include <thread>
#include <vector>

namespace overlap::testing {
namespace {

using namespace std::chrono_literals;

std::atomic<int> signals_seen{0};
void count_signal(int /*number*/) { signals_seen.fetch_add(1); }

/// Installs a handler without SA_RESTART for as long as it lives.
class InterruptingSignal {
 public:
  InterruptingSignal() {
    struct sigaction action {};
    action.sa_handler = count_signal;
    ::sigaction(SIGUSR1, &action, &before_);
    signals_seen.store(0);
  }
  ~InterruptingSignal() { ::sigaction(SIGUSR1, &before_, nullptr); }
  InterruptingSignal(const InterruptingSignal&) = delete;
  InterruptingSignal& operator=(const InterruptingSignal&) = delete;

 private:
  struct sigaction before_ {};
};

bool readable(int fd, int timeout_ms) {
  pollfd watched{fd, POLLIN, 0};
  return ::poll(&watched, 1, timeout_ms) == 1;
}

/// Polling first or sleeping at once: both ways to wait.
struct ProducerWaitTest : ::testing::TestWithParam<std::chrono::nanoseconds> {
  ProducerOptions options(std::uint32_t slot_count = 4) const {
    ProducerOptions made = small_channel(socket, slot_count);
    made.spin = GetParam();
    return made;
  }
  SocketFolder folder;
  std::string socket = folder.path("daemon.sock");
};

TEST_P(ProducerWaitTest, TimesOutWithoutCancelling) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  const std::uint64_t start_ns = monotonic_now_ns();
  EXPECT_FALSE(sut.wait_for(id, 20ms));
  EXPECT_GE(monotonic_now_ns() - start_ns, 20'000'000U);
  EXPECT_FALSE(sut.wait_any_for(1ms));
  EXPECT_FALSE(sut.wait_next_for(1ms));
  EXPECT_FALSE(sut.try_any());
  EXPECT_FALSE(sut.try_next());
  daemon.await_taken(1);
  daemon.answer_held();
  EXPECT_TRUE(answers_its_tag(sut.wait(id)));
}

TEST_P(ProducerWaitTest, TimesOutOnAJobThatSomebodyElseLeadsFor) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const JobId slow = submit_filled(sut, 1);
  const JobId other = submit_filled(sut, 2);
  std::thread waiter([&] { EXPECT_TRUE(answers_its_tag(sut.wait(slow))); });
  EXPECT_FALSE(sut.wait_for(other, 10ms));
  daemon.await_taken(2);
  daemon.answer_held();
  EXPECT_TRUE(answers_its_tag(sut.wait(other)));
  waiter.join();
}

TEST_P(ProducerWaitTest, ManyThreadsSubmitAndEachGetsItsOwnAnswers) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  std::atomic<int> right{0};
  std::vector<std::thread> threads;
  for (std::uint64_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&, thread] {
      for (std::uint64_t i = 0; i < 100; ++i) {
        const std::uint64_t tag = thread * 1000 + i;
        const Result result = sut.wait(submit_filled(sut, tag));
        right += result.tag() == tag && answers_its_tag(result) ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  EXPECT_EQ(right, 400);
}

TEST_P(ProducerWaitTest, ManyThreadsTakeEveryResultExactlyOnce) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  constexpr std::uint64_t kJobs = 300;
  std::mutex mutex;
  std::multiset<std::uint64_t> tags;
  std::atomic<std::uint64_t> picked{0};
  std::vector<std::thread> takers;
  for (int thread = 0; thread < 3; ++thread) {
    takers.emplace_back([&] {
      while (picked.fetch_add(1) < kJobs) {
        const Result result = sut.wait_any();
        EXPECT_TRUE(answers_its_tag(result));
        const std::lock_guard lock(mutex);
        tags.insert(result.tag());
      }
    });
  }
  for (std::uint64_t tag = 0; tag < kJobs; ++tag) {
    submit_filled(sut, tag);
  }
  for (std::thread& taker : takers) {
    taker.join();
  }
  EXPECT_EQ(tags.size(), kJobs);
  EXPECT_EQ(std::set<std::uint64_t>(tags.begin(), tags.end()).size(), kJobs);
}

TEST_P(ProducerWaitTest, AResultThatSomebodyWaitsForIsGivenToNobodyElse) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const JobId wanted = submit_filled(sut, 1);
  submit_filled(sut, 2);
  daemon.await_taken(2);
  std::atomic<bool> answered{false};
  std::thread waiter([&] {
    const Result result = sut.wait(wanted);
    EXPECT_EQ(result.tag(), 1U);
    answered = true;
  });
  // Once the waiter has claimed its job, nothing but the second one is left to be next.
  daemon.answer_oldest(1);
  waiter.join();
  EXPECT_TRUE(answered);
  EXPECT_FALSE(sut.try_any());
  daemon.answer_oldest(1);
  EXPECT_EQ(sut.wait_any().tag(), 2U);
}

TEST_P(ProducerWaitTest, ASlotReleasedByAnotherThreadEndsTheWait) {
  FakeDaemon daemon(socket);
  Producer sut(options(1));
  Slot only = sut.acquire();
  std::thread waiter([&] { EXPECT_TRUE(sut.acquire_for(30s)); });
  only.release();
  waiter.join();
}

TEST_P(ProducerWaitTest, GoesOnWaitingAfterASignal) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const InterruptingSignal signal;
  const JobId id = submit_filled(sut, 1);
  daemon.await_taken(1);
  std::atomic<bool> answered{false};
  std::thread waiter([&] {
    EXPECT_TRUE(answers_its_tag(sut.wait(id)));
    answered = true;
  });
  while (signals_seen < 20) {
    ::pthread_kill(waiter.native_handle(), SIGUSR1);
    std::this_thread::yield();
  }
  EXPECT_FALSE(answered);
  daemon.answer_held();
  waiter.join();
  EXPECT_TRUE(answered);
}

TEST_P(ProducerWaitTest, AWakeUpForNothingIsHarmless) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const JobId id = submit_filled(sut, 1);
  daemon.await_taken(1);
  std::thread waiter([&] { EXPECT_TRUE(answers_its_tag(sut.wait(id))); });
  for (int i = 0; i < 50; ++i) {
    daemon.wake_for_nothing();
  }
  daemon.answer_held();
  waiter.join();
}

TEST_P(ProducerWaitTest, APollLoopGetsEveryResult) {
  FakeDaemon daemon(socket);
  Producer sut(options());
  const int fd = sut.completion_fd();
  std::set<std::uint64_t> tags;
  std::uint64_t submitted = 0;
  while (tags.size() < 100) {
    while (submitted < 100) {
      auto slot = sut.try_acquire();
      if (!slot) {
        break;
      }
      fill(*slot, submitted);
      sut.submit(std::move(*slot), submitted);
      ++submitted;
    }
    while (const auto result = sut.try_any()) {
      ASSERT_TRUE(answers_its_tag(*result));
      ASSERT_TRUE(tags.insert(result->tag()).second);
    }
    if (tags.size() < submitted) {
      ASSERT_TRUE(readable(fd, 10'000)) << tags.size() << " of " << submitted;
    }
  }
  EXPECT_EQ(sut.completion_fd(), fd);
}

TEST_P(ProducerWaitTest, TheDescriptorIsSilentWhileThereIsNothing) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const int fd = sut.completion_fd();
  submit_filled(sut, 1);
  daemon.await_taken(1);
  EXPECT_FALSE(sut.try_any());
  EXPECT_FALSE(readable(fd, 0));
  daemon.answer_held();
  EXPECT_TRUE(readable(fd, 10'000));
  EXPECT_TRUE(sut.try_any());
  EXPECT_FALSE(sut.try_any());
  EXPECT_FALSE(readable(fd, 0));
}

TEST_P(ProducerWaitTest, AThreadThatCollectsTellsThePollLoop) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const int fd = sut.completion_fd();
  submit_filled(sut, 1);
  const JobId other = submit_filled(sut, 2);
  daemon.await_taken(2);
  EXPECT_FALSE(sut.try_any());
  std::thread waiter([&] { EXPECT_EQ(sut.wait(other).tag(), 2U); });
  daemon.answer_held();
  waiter.join();
  EXPECT_TRUE(readable(fd, 10'000));
  EXPECT_EQ(sut.try_any().value().tag(), 1U);
}

TEST_P(ProducerWaitTest, TheEndOfTheChannelIsReadable) {
  FakeDaemon daemon(socket, {{.hold = true}});
  Producer sut(options());
  const int fd = sut.completion_fd();
  submit_filled(sut, 1);
  daemon.await_taken(1);
  EXPECT_FALSE(sut.try_any());
  daemon.close(CloseReason::violation, "");
  EXPECT_TRUE(readable(fd, 10'000));
  // The descriptor may have told of something else first.
  EXPECT_THROW(
      {
        while (!sut.try_any()) {
          ASSERT_TRUE(readable(fd, 10'000));
        }
      },
      ChannelClosed);
}

INSTANTIATE_TEST_SUITE_P(Waits, ProducerWaitTest, ::testing::Values(0ns, 50us),
                         [](const auto& waits) {
                           return waits.param == 0ns ? "SleepingAtOnce" : "PollingFirst";
                         });

}  // namespace
}  // namespace overlap::testing
