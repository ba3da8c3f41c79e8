// What is in the place of the daemon's socket when it starts, and what is left when it goes.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/says.hpp"

#include <sys/socket.h>

#include <filesystem>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

namespace fs = std::filesystem;

struct SocketPlace : ProcessTest {
  /// Starts a daemon that cannot have its socket.
  /// @return what it says
  [[nodiscard]] std::string refusal() const {
    DaemonProcess sut(socket_path());
    EXPECT_EQ(sut.exit_code(), 3) << sut.log();
    return sut.log();
  }
};

TEST_F(SocketPlace, OfALiveDaemonIsLeftToIt) {
  DaemonProcess live = start_daemon();
  std::vector<ProducerProcess> producers;
  producers.reserve(3);
  for (int i = 0; i < 3; ++i) {
    producers.emplace_back(socket_path(), 3, 4000);
    ASSERT_EQ(producers.back().hear(), "attached");
    ASSERT_EQ(producers.back().ask("stream next"), "streaming");
  }
  for (int round = 0; round < 3; ++round) {
    EXPECT_TRUE(says(refusal(), {socket_path(), "in use by a live daemon", "--socket"}));
  }
  // Somebody took the lock file away: the socket itself answers.
  fs::remove(socket_path() + ".lock");
  EXPECT_TRUE(says(refusal(), {socket_path(), "in use by a live daemon", "--socket"}));
  EXPECT_TRUE(live.serves(3, 50));
  for (ProducerProcess& producer : producers) {
    EXPECT_TRUE(says(producer.ask("stop"), {"streamed "}));
    EXPECT_EQ(producer.ask("resumes"), "resumed 0");
  }
}

TEST_F(SocketPlace, OfARegularFileIsLeftToIt) {
  write_file(socket_path(), "a letter");
  EXPECT_TRUE(says(refusal(), {socket_path(), "is no socket", "--socket"}));
  EXPECT_EQ(read_file(socket_path()), "a letter");
  EXPECT_EQ(socket_folder(), (std::vector<std::string>{"overlapd.sock"}));
}

TEST_F(SocketPlace, OfAFolderIsLeftToIt) {
  fs::create_directory(socket_path());
  write_file(socket_path() + "/inside", "a letter");
  EXPECT_TRUE(says(refusal(), {socket_path(), "is no socket", "--socket"}));
  EXPECT_EQ(read_file(socket_path() + "/inside"), "a letter");
}

TEST_F(SocketPlace, OfASymbolicLinkIsLeftToItAndItsTarget) {
  write_file(path("target"), "a letter");
  for (const char* const target : {"target", "nowhere"}) {
    fs::create_symlink(path(target), socket_path());
    EXPECT_TRUE(says(refusal(), {socket_path(), "is no socket", "--socket"}));
    EXPECT_EQ(fs::read_symlink(socket_path()), path(target));
    fs::remove(socket_path());
  }
  EXPECT_EQ(read_file(path("target")), "a letter");
}

TEST_F(SocketPlace, OfAnotherProgramIsLeftToIt) {
  for (const int type : {SOCK_STREAM, SOCK_SEQPACKET}) {
    const FileDescriptor listener = listen_at(socket_path(), type);
    EXPECT_TRUE(says(refusal(), {socket_path(), "--socket"}));
    EXPECT_TRUE(fs::is_socket(socket_path()));
    fs::remove(socket_path());
  }
}

TEST_F(SocketPlace, ThatCannotBeWrittenIsNamed) {
  const std::string folder = path("nowhere");
  DaemonProcess sut(folder + "/overlapd.sock");
  EXPECT_EQ(sut.exit_code(), 3);
  EXPECT_TRUE(says(sut.log(), {folder, "--socket"}));
  DaemonProcess too_long(path(std::string(200, 'x')));
  EXPECT_EQ(too_long.exit_code(), 3);
  EXPECT_TRUE(says(too_long.log(), {"choose a shorter one with --socket"}));
}

TEST_F(SocketPlace, OfADeadDaemonIsTakenWhateverIsLeftOfIt) {
  for (unsigned kept = 0; kept < 4; ++kept) {
    SCOPED_TRACE(kept);
    DaemonProcess dead = start_daemon();
    dead.kill();
    ASSERT_EQ(socket_folder(), (std::vector<std::string>{"overlapd.sock", "overlapd.sock.lock"}));
    if ((kept & 1U) == 0) {
      fs::remove(socket_path());
    }
    if ((kept & 2U) == 0) {
      fs::remove(socket_path() + ".lock");
    }
    DaemonProcess sut = start_daemon();
    EXPECT_EQ(sut.stop(), 0) << sut.log();
    EXPECT_TRUE(socket_folder().empty());
  }
}

TEST_F(SocketPlace, IsReadyAgainAfterEachOfManyDeaths) {
  for (int round = 0; round < rounds(100, 10); ++round) {
    SCOPED_TRACE(round);
    DaemonProcess sut = start_daemon();
    ProducerProcess producer(socket_path(), 2, 3000);
    ASSERT_EQ(producer.hear(), "attached");
    ASSERT_EQ(producer.ask("submit 2"), "submitted");
    ASSERT_EQ(producer.ask("take 2"), "took 2");
    if (round % 2 == 0) {
      producer.kill();
    }
    sut.kill();
    ASSERT_EQ(socket_folder().size(), 2U);
  }
  DaemonProcess last = start_daemon();
  EXPECT_EQ(last.stop(), 0) << last.log();
  EXPECT_TRUE(socket_folder().empty());
}

TEST_F(SocketPlace, IsNotTouchedByADaemonThatCannotBeConfigured) {
  DaemonProcess live = start_daemon();
  for (const std::vector<std::string>& options : {std::vector<std::string>{"--lanes", "0"},
                                                  {"--no-such-thing", "1"},
                                                  {"--allow-users", "nobody-of-this-name"},
                                                  {"--config", path("no-such-file")}}) {
    DaemonProcess sut(socket_path(), options);
    EXPECT_EQ(sut.exit_code(), 78) << sut.log();
    EXPECT_TRUE(says(sut.log(), {"overlapd: "}));
  }
  EXPECT_EQ(live.status().channel_count, 0U);
  EXPECT_EQ(live.stop(), 0);
}

}  // namespace
}  // namespace overlap::testing
