// Signals reach the daemon's main thread alone, and those that mean nothing to it change nothing.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/says.hpp"

#include <csignal>
#include <filesystem>
#include <fstream>
#include <string>

namespace overlap::testing {
namespace {

namespace fs = std::filesystem;

using DaemonSignals = ProcessTest;

/// Bit n - 1 of the mask is signal n.
std::uint64_t blocked_signals(const fs::path& task) {
  std::ifstream status(task / "status");
  for (std::string line; std::getline(status, line);) {
    if (line.rfind("SigBlk:", 0) == 0) {
      return std::stoull(line.substr(7), nullptr, 16);
    }
  }
  return 0;
}

TEST_F(DaemonSignals, AreBlockedInEveryThreadButTheMainOne) {
  DaemonProcess sut = start_daemon({"--workers", "2"});
  ProducerProcess producer(socket_path(), 2, 4096);
  ASSERT_EQ(producer.hear(), "attached");
  std::uint64_t wanted = 0;
  for (const int number : {SIGHUP, SIGINT, SIGQUIT, SIGTERM, SIGUSR1, SIGUSR2, SIGPIPE, SIGALRM,
                           SIGCHLD, SIGCONT, SIGIO, SIGWINCH}) {
    wanted |= std::uint64_t{1} << static_cast<unsigned>(number - 1);
  }
  int threads = 0;
  for (const auto& task : fs::directory_iterator("/proc/" + std::to_string(sut.pid()) + "/task")) {
    if (task.path().filename() == std::to_string(sut.pid())) {
      continue;
    }
    ++threads;
    EXPECT_EQ(blocked_signals(task.path()) & wanted, wanted) << task.path();
  }
  // Pin worker, engine, log, two workers.
  EXPECT_GE(threads, 5);
}

TEST_F(DaemonSignals, ThatMeanNothingChangeNothing) {
  DaemonProcess sut = start_daemon();
  ProducerProcess producer(socket_path(), 3, 5000);
  ASSERT_EQ(producer.hear(), "attached");
  ASSERT_EQ(producer.ask("stream next"), "streaming");
  for (int i = 0; i < 2000; ++i) {
    sut.send_signal(SIGCONT);
    sut.send_signal(SIGWINCH);
    sut.send_signal(SIGPIPE);
  }
  EXPECT_TRUE(sut.serves(1, 50));
  EXPECT_TRUE(says(producer.ask("stop"), {"streamed "}));
  EXPECT_EQ(producer.ask("resumes"), "resumed 0");
  EXPECT_EQ(sut.stop(), 0) << sut.log();
}

TEST_F(DaemonSignals, PauseItAndItGoesOn) {
  DaemonProcess sut = start_daemon();
  ProducerProcess producer(socket_path(), 3, 5000);
  ASSERT_EQ(producer.hear(), "attached");
  ASSERT_EQ(producer.ask("stream next"), "streaming");
  for (int i = 0; i < 20; ++i) {
    sut.send_signal(SIGSTOP);
    sut.send_signal(SIGCONT);
    ASSERT_TRUE(sut.serves(1, 5));
  }
  EXPECT_TRUE(says(producer.ask("stop"), {"streamed "}));
  EXPECT_EQ(producer.ask("resumes"), "resumed 0");
}

}  // namespace
}  // namespace overlap::testing
