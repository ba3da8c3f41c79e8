// The daemon is killed and started again, with producers at work, idle, or not wanted any more.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/says.hpp"

#include <unistd.h>

#include <cstdint>
#include <optional>
#include <string>

namespace overlap::testing {
namespace {

struct DaemonDeath : ProcessTest {
  /// Another daemon in the place of the killed one.
  void replace(std::optional<DaemonProcess>& daemon,
               const std::vector<std::string>& options = {}) const {
    daemon->kill();
    daemon.reset();
    daemon.emplace(socket_path(), options);
    EXPECT_TRUE(daemon->answers()) << daemon->log();
  }
};

TEST_F(DaemonDeath, UnderLoadLosesNoResultAndGivesNoneTwice) {
  constexpr int kDeaths = 3;
  std::optional<DaemonProcess> daemon(start_daemon());
  ProducerProcess in_order(socket_path(), 5, 6000);
  ProducerProcess in_any_order(socket_path(), 3, 50000);
  ProducerProcess with_one_slot(socket_path(), 1, 900);
  for (ProducerProcess* sut : {&in_order, &in_any_order, &with_one_slot}) {
    ASSERT_EQ(sut->hear(), "attached");
  }
  ASSERT_EQ(in_order.ask("stream next"), "streaming");
  ASSERT_EQ(in_any_order.ask("stream any"), "streaming");
  ASSERT_EQ(with_one_slot.ask("stream next"), "streaming");
  for (int death = 0; death < kDeaths; ++death) {
    ASSERT_TRUE(daemon->serves(3, 40 + 13 * static_cast<std::uint64_t>(death)));
    replace(daemon);
    for (ProducerProcess* sut : {&in_order, &in_any_order, &with_one_slot}) {
      ASSERT_EQ(sut->hear(), "resumed " + std::to_string(death + 1));
    }
  }
  for (ProducerProcess* sut : {&in_order, &in_any_order, &with_one_slot}) {
    EXPECT_TRUE(says(sut->ask("stop"), {"streamed "}));
    EXPECT_EQ(sut->leave(), 0);
  }
  EXPECT_EQ(daemon->stop(), 0) << daemon->log();
}

TEST_F(DaemonDeath, IsSurvivedByAPipeThroughOverlapSend) {
  std::optional<DaemonProcess> daemon(start_daemon());
  const std::string bytes = some_bytes(std::uint64_t{4} * 40960);
  Pipe pipe;
  ChildProgram sut = start_send({"--kernel", "copy", "--input", "-", "--slot-bytes", "100",
                                 "--slots", "4", "--output", path("output")},
                                pipe.reader.get());
  for (std::size_t piece = 0; piece < 4; ++piece) {
    // The rest of a slot and some jobs are under way when the daemon goes.
    const std::string_view part = std::string_view(bytes).substr(piece * 40960, 40960);
    ASSERT_EQ(::write(pipe.writer.get(), part.data(), part.size()), 40960);
    if (piece < 3) {
      ASSERT_TRUE(daemon->serves(1, 20));
      replace(daemon);
    }
  }
  pipe.writer.reset();
  EXPECT_EQ(sut.exit_code(), 0) << sut.errors();
  EXPECT_TRUE(read_file(path("output")) == bytes);
  EXPECT_TRUE(says(sut.output(), {"the daemon went and came back"}));
}

TEST_F(DaemonDeath, WhileProducersIdleKeepsTheirSlotsAndTheirResults) {
  std::optional<DaemonProcess> daemon(start_daemon());
  ProducerProcess sut(socket_path(), 4, 6000);
  ASSERT_EQ(sut.hear(), "attached");
  ASSERT_EQ(sut.ask("submit 3"), "submitted");
  ASSERT_EQ(sut.ask("flush"), "flushed");
  ASSERT_EQ(sut.ask("hold"), "held");
  const auto has_resumed = [&](const char* how_often) {
    return daemon->await([&] { return sut.ask("resumes") == how_often; });
  };
  replace(daemon);
  // Nothing is under way and nobody waits: it attaches all the same.
  ASSERT_TRUE(has_resumed("resumed 1"));
  EXPECT_EQ(sut.ask("take 2"), "took 2");
  replace(daemon);
  ASSERT_TRUE(has_resumed("resumed 2"));
  EXPECT_EQ(sut.ask("submit-held"), "submitted");
  EXPECT_EQ(sut.ask("take 2"), "took 2");
  EXPECT_EQ(sut.ask("submit 4"), "submitted") << "what came from dead daemons holds no slot";
  EXPECT_EQ(sut.ask("take 4"), "took 4");
  EXPECT_EQ(sut.leave(), 0);
}

TEST_F(DaemonDeath, EndsInATypedErrorWhereTheNextOneRefuses) {
  std::optional<DaemonProcess> daemon(start_daemon());
  ProducerProcess sut(socket_path(), 4, 6000);
  ASSERT_EQ(sut.hear(), "attached");
  ASSERT_EQ(sut.ask("submit 2"), "submitted");
  ASSERT_EQ(sut.ask("flush"), "flushed");
  ASSERT_EQ(sut.ask("hold"), "held");
  replace(daemon, {"--max-slot-bytes", "4096"});
  ASSERT_TRUE(daemon->logs("refused pid")) << daemon->log();
  EXPECT_EQ(sut.ask("take 2"), "took 2") << "what was done is done";
  // The first one waits until the library has heard it too.
  for (const char* const command : {"take 1", "submit-held", "submit 1"}) {
    EXPECT_TRUE(says(sut.ask(command),
                     {"AttachError", "geometry refused", "input bytes is 6000", "limit is 4KiB"}))
        << command;
  }
  EXPECT_EQ(daemon->status().channel_count, 0U);
}

TEST_F(DaemonDeath, EndsOverlapSendWhereTheNextOneRefuses) {
  std::optional<DaemonProcess> daemon(start_daemon());
  ChildProgram sut = start_send({"--kernel", "copy", "--input", "pattern", "--count",
                                 "1000000000000", "--slot-bytes", "8192", "--quiet"});
  ASSERT_TRUE(daemon->serves(1, 20));
  replace(daemon, {"--max-slot-bytes", "4096"});
  EXPECT_EQ(sut.exit_code(), 3) << sut.errors();
  EXPECT_TRUE(
      says(sut.errors(), {"refused", "input bytes is 8KiB, the limit is 4KiB", "ask for less"}));
}

TEST_F(DaemonDeath, EndsOverlapSendWhereNoneComesBackInTime) {
  DaemonProcess daemon = start_daemon();
  ChildProgram sut =
      start_send({"--kernel", "copy", "--input", "pattern", "--count", "1000000000000",
                  "--slot-bytes", "8192", "--quiet", "--resume-timeout", "50ms"});
  ASSERT_TRUE(daemon.serves(1, 20));
  daemon.kill();
  EXPECT_EQ(sut.exit_code(), 3) << sut.errors();
  EXPECT_TRUE(says(sut.errors(), {socket_path(), "has gone", "none came back within 50ms",
                                  "jobs have no result", "start overlapd"}));
}

}  // namespace
}  // namespace overlap::testing
