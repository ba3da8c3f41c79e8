#include "daemon/stop_signals.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <optional>
#include <thread>

namespace overlap {
namespace {

/// Puts the signal mask of this thread and the action of SIGPIPE back at the end of a test.
class StopSignalsTest : public ::testing::Test {
 protected:
  StopSignalsTest() : old_pipe_action_(std::signal(SIGPIPE, SIG_DFL)) {
    pthread_sigmask(SIG_SETMASK, nullptr, &old_mask_);
  }
  ~StopSignalsTest() override {
    pthread_sigmask(SIG_SETMASK, &old_mask_, nullptr);
    std::signal(SIGPIPE, old_pipe_action_);
  }

 private:
  sighandler_t old_pipe_action_;
  sigset_t old_mask_;
};

bool is_blocked(int signal) {
  sigset_t mask;
  pthread_sigmask(SIG_SETMASK, nullptr, &mask);
  return sigismember(&mask, signal) == 1;
}

/// The number of the next signal; none if there is none now.
std::optional<unsigned> read_signal(const StopSignals& sut) {
  signalfd_siginfo info{};
  return ::read(sut.descriptor(), &info, sizeof info) == sizeof info ? std::optional(info.ssi_signo)
                                                                     : std::nullopt;
}

bool is_readable(const StopSignals& sut) {
  pollfd entry{sut.descriptor(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

TEST_F(StopSignalsTest, HandOutWhatAsksToStop) {
  const StopSignals sut;
  for (const int signal : {SIGTERM, SIGINT, SIGHUP}) {
    EXPECT_FALSE(is_readable(sut));
    ASSERT_EQ(::raise(signal), 0);
    EXPECT_TRUE(is_readable(sut));
    EXPECT_EQ(read_signal(sut), static_cast<unsigned>(signal));
  }
}

TEST_F(StopSignalsTest, NeverBlockTheirReader) {
  const StopSignals sut;
  EXPECT_EQ(read_signal(sut), std::nullopt);
  EXPECT_NE(::fcntl(sut.descriptor(), F_GETFL) & O_NONBLOCK, 0);
  EXPECT_NE(::fcntl(sut.descriptor(), F_GETFD) & FD_CLOEXEC, 0);
}

TEST_F(StopSignalsTest, BlockTheirSignalsAndNoOthers) {
  const StopSignals sut;
  EXPECT_TRUE(is_blocked(SIGTERM));
  EXPECT_TRUE(is_blocked(SIGINT));
  EXPECT_TRUE(is_blocked(SIGHUP));
  for (const int signal : {SIGUSR1, SIGSEGV, SIGCHLD, SIGPIPE}) {
    EXPECT_FALSE(is_blocked(signal)) << signal;
  }
}

TEST_F(StopSignalsTest, AreBlockedInEveryThreadMadeLater) {
  const StopSignals sut;
  bool blocked = false;
  std::thread([&] {
    blocked = is_blocked(SIGTERM) && is_blocked(SIGINT) && is_blocked(SIGHUP);
  }).join();
  EXPECT_TRUE(blocked);
}

TEST_F(StopSignalsTest, LetNoReaderOfThisProcessThatGoesAwayEndIt) {
  const StopSignals sut;
  int ends[2] = {-1, -1};
  ASSERT_EQ(::pipe(ends), 0);
  const FileDescriptor writer(ends[1]);
  ::close(ends[0]);
  EXPECT_EQ(::write(writer.get(), "x", 1), -1);
  EXPECT_EQ(errno, EPIPE);
}

TEST(DescriptorLimit, IsRaisedToWhatTheSystemAllows) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit low = before;
  low.rlim_cur = 64;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &low), 0);
  raise_descriptor_limit();
  rlimit after{};
  EXPECT_EQ(::getrlimit(RLIMIT_NOFILE, &after), 0);
  EXPECT_EQ(after.rlim_cur, before.rlim_max);
  EXPECT_EQ(after.rlim_max, before.rlim_max);
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

}  // namespace
}  // namespace overlap
