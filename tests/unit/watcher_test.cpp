#include "producer/watcher.hpp"

#include "shared/monotonic_clock.hpp"
#include "tests/unit/patience.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <atomic>
#include <csignal>
#include <future>

namespace overlap {
namespace {

TEST(Watcher, SoundsTheAlarmNotBeforeItsTime) {
  Watcher sut;
  std::promise<std::uint64_t> sounded;
  sut.start({[] { return -1; }, [] {}, [&] { sounded.set_value(monotonic_now_ns()); }});
  const std::uint64_t at_ns = monotonic_now_ns() + 5'000'000;
  sut.set_alarm(at_ns);
  EXPECT_GE(sounded.get_future().get(), at_ns);
}

TEST(Watcher, SoundsAnAlarmOfThePastAtOnce) {
  Watcher sut;
  std::promise<void> sounded;
  sut.start({[] { return -1; }, [] {}, [&] { sounded.set_value(); }});
  sut.set_alarm(0);
  sounded.get_future().wait();
}

TEST(Watcher, ALaterAlarmDoesNotPutOffAnEarlierOne) {
  Watcher sut;
  std::promise<void> sounded;
  sut.start({[] { return -1; }, [] {}, [&] { sounded.set_value(); }});
  const std::uint64_t now_ns = monotonic_now_ns();
  constexpr std::uint64_t kHourNs = 3'600'000'000'000;
  sut.set_alarm(now_ns + 2 * kHourNs);
  sut.set_alarm(now_ns + 5'000'000);
  sut.set_alarm(now_ns + kHourNs);
  EXPECT_EQ(sounded.get_future().wait_for(testing::kPatience), std::future_status::ready);
}

TEST(Watcher, CanBeSetAgainForLaterOnceTheAlarmHasSounded) {
  Watcher sut;
  std::atomic<int> sounded{0};
  std::promise<void> often;
  sut.start({[] { return -1; }, [] {},
             [&] {
               if (++sounded == 5) {
                 often.set_value();
                 return;
               }
               sut.set_alarm(monotonic_now_ns() + 1'000'000);
             }});
  sut.set_alarm(monotonic_now_ns());
  EXPECT_EQ(often.get_future().wait_for(testing::kPatience), std::future_status::ready);
}

TEST(Watcher, TellsOfTheSocket) {
  int ends[2];
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor ours(ends[0]);
  FileDescriptor theirs(ends[1]);
  std::promise<void> told;
  int watched = ours.get();
  Watcher sut;
  sut.start({[&] { return watched; },
             [&] {
               watched = -1;
               told.set_value();
             },
             [] {}});
  theirs.reset();
  told.get_future().wait();
}

TEST(Watcher, HasEverySignalBlockedAndLeavesItsStartersMaskAlone) {
  sigset_t before;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &before);
  Watcher sut;
  std::promise<bool> blocked;
  sut.start({[] { return -1; }, [] {},
             [&] {
               sigset_t mask;
               ::pthread_sigmask(SIG_SETMASK, nullptr, &mask);
               blocked.set_value(::sigismember(&mask, SIGINT) == 1 &&
                                 ::sigismember(&mask, SIGUSR1) == 1);
             }});
  sut.set_alarm(0);
  EXPECT_TRUE(blocked.get_future().get());
  sigset_t after;
  ::pthread_sigmask(SIG_SETMASK, nullptr, &after);
  EXPECT_EQ(::sigismember(&before, SIGINT), ::sigismember(&after, SIGINT));
}

TEST(Watcher, CanBeStoppedTwiceAndWithoutAStart) {
  Watcher idle;
  idle.stop();
  Watcher sut;
  sut.start({[] { return -1; }, [] {}, [] {}});
  sut.stop();
  sut.stop();
  EXPECT_TRUE(sut.stopped_within(std::chrono::seconds(30)));
}

}  // namespace
}  // namespace overlap
