// overlap-send, several at a time, and everything that may be odd about a job's size.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/says.hpp"

#include <unistd.h>

#include <csignal>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

using SeveralProducers = ProcessTest;

constexpr std::uint64_t kMiB = 1U << 20U;

/// Writes all of it. @pre somebody reads
void feed(const FileDescriptor& pipe, std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t written = ::write(pipe.get(), bytes.data(), bytes.size());
    ASSERT_GT(written, 0);
    bytes.remove_prefix(static_cast<std::size_t>(written));
  }
}

TEST_F(SeveralProducers, WithKernelsOfTheirOwnAllGetWhatIsTheirs) {
  DaemonProcess daemon = start_daemon();
  for (const std::uint64_t bytes :
       {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4097}, kMiB + 3}) {
    SCOPED_TRACE(bytes);
    const std::string file = make_file("input", bytes);
    const std::uint64_t pattern_bytes = 8 * bytes;
    const std::vector<std::string> slots{"--slot-bytes", "4096", "--slots", "5"};
    const auto start = [&](std::vector<std::string> arguments) {
      arguments.insert(arguments.end(), slots.begin(), slots.end());
      return start_send(std::move(arguments));
    };
    ChildProgram copying = start({"--kernel", "copy", "--input", file, "--output", path("copied")});
    ChildProgram scaling =
        start({"--kernel", "scale:type=u8,a=2,b=1", "--input", file, "--output", path("scaled")});
    ChildProgram adding =
        start({"--kernel", "vector_add", "--input", "pattern", "--input-bytes",
               std::to_string(pattern_bytes), "--output", path("added"), "--verify"});
    EXPECT_EQ(copying.exit_code(), 0) << copying.errors();
    EXPECT_EQ(scaling.exit_code(), 0) << scaling.errors();
    EXPECT_EQ(adding.exit_code(), 0) << adding.errors();
    EXPECT_TRUE(is_right("copy", "", file, 4096, path("copied")));
    EXPECT_TRUE(is_right("scale", "type=u8,a=2,b=1", file, 4096, path("scaled")));
    EXPECT_TRUE(is_right("vector_add", "", "pattern:" + std::to_string(pattern_bytes), 4096,
                         path("added")));
  }
  EXPECT_EQ(daemon.stop(), 0) << daemon.log();
}

TEST_F(SeveralProducers, GetTheirOrderWithMoreJobsThanSlots) {
  DaemonProcess daemon = start_daemon();
  const std::string file = make_file("input", 200000);
  for (const char* const slots : {"1", "3"}) {
    SCOPED_TRACE(slots);
    const Finished sut = send({"--kernel", "copy", "--input", file, "--slot-bytes", "1000",
                               "--slots", slots, "--output", path("output")});
    EXPECT_EQ(sut.exit_code, 0) << sut.errors;
    EXPECT_TRUE(says(sut.output, {"200 jobs"}));
    EXPECT_TRUE(is_right("copy", "", file, 1000, path("output")));
  }
}

TEST_F(SeveralProducers, MayHaveSlotsOfOneByte) {
  DaemonProcess daemon = start_daemon();
  const std::string file = make_file("input", 777);
  const Finished sut = send({"--kernel", "scale:type=u8,a=2,b=1", "--input", file, "--slot-bytes",
                             "1", "--slots", "6", "--output", path("output")});
  EXPECT_EQ(sut.exit_code, 0) << sut.errors;
  EXPECT_TRUE(says(sut.output, {"777 jobs"}));
  EXPECT_TRUE(is_right("scale", "type=u8,a=2,b=1", file, 1, path("output")));
}

TEST_F(SeveralProducers, MayWriteToStandardOutputInTheOrderOfTheInput) {
  DaemonProcess daemon = start_daemon();
  // 300 whole jobs and a short one.
  const std::string bytes = some_bytes(153611);
  const std::string file = make_file("input", bytes.size());
  const Finished sut = send({"--kernel", "copy", "--input", file, "--slot-bytes", "512", "--slots",
                             "7", "--output", "-"});
  EXPECT_EQ(sut.exit_code, 0) << sut.errors;
  EXPECT_TRUE(sut.output == bytes);
  EXPECT_TRUE(says(sut.errors, {"301 jobs"}));
}

TEST_F(SeveralProducers, HearWhatIsSurplusInAPipeAfterItsWholeElements) {
  DaemonProcess daemon = start_daemon();
  const std::string bytes = some_bytes(4003);
  Pipe pipe;
  ChildProgram sut = start_send({"--kernel", "copy|scale:type=i32", "--input", "-", "--slot-bytes",
                                 "1024", "--output", path("output")},
                                pipe.reader.get());
  feed(pipe.writer, bytes);
  pipe.writer.reset();
  EXPECT_EQ(sut.exit_code(), 2) << sut.errors();
  EXPECT_TRUE(says(sut.errors(), {"the last 3 bytes", "were not sent"}));
  EXPECT_TRUE(read_file(path("output")) == bytes.substr(0, 4000));
}

TEST_F(SeveralProducers, AreRefusedAFileThatDoesNotFitBeforeTheFirstJob) {
  DaemonProcess daemon = start_daemon();
  const std::string file = make_file("input", 4003);
  const Finished sut = send(
      {"--kernel", "scale", "--input", file, "--slot-bytes", "1024", "--output", path("output")});
  EXPECT_EQ(sut.exit_code, 2);
  EXPECT_TRUE(says(sut.errors, {file, "the last 3 bytes are surplus", "nothing was sent"}));
  EXPECT_EQ(daemon.status().jobs_done, 0U);
}

TEST_F(SeveralProducers, MakeAnEmptyFileOfAnEmptyOne) {
  DaemonProcess daemon = start_daemon();
  const std::string file = make_file("input", 0);
  write_file(path("output"), "what was there");
  const Finished sut = send({"--kernel", "scale", "--input", file, "--output", path("output")});
  EXPECT_EQ(sut.exit_code, 0) << sut.errors;
  EXPECT_EQ(read_file(path("output")), "");
}

TEST_F(SeveralProducers, DoNotFeelThatOneOfThemIsInterrupted) {
  DaemonProcess daemon = start_daemon();
  ProducerProcess first(socket_path(), 3, 3000);
  ProducerProcess second(socket_path(), 2, 70000);
  for (ProducerProcess* other : {&first, &second}) {
    ASSERT_EQ(other->hear(), "attached");
    ASSERT_EQ(other->ask("stream next"), "streaming");
  }
  const std::string bytes = some_bytes(6400);
  Pipe pipe;
  ChildProgram sut = start_send(
      {"--kernel", "copy", "--input", "-", "--slot-bytes", "100", "--output", path("output")},
      pipe.reader.get());
  feed(pipe.writer, bytes);
  ASSERT_TRUE(daemon.await([&] { return read_file(path("output")).size() == bytes.size(); }));
  sut.send_signal(SIGINT);
  EXPECT_EQ(sut.exit_code(), 128 + SIGINT) << sut.errors();
  EXPECT_TRUE(read_file(path("output")) == bytes);
  EXPECT_TRUE(says(sut.output(), {"64 jobs"}));
  EXPECT_TRUE(daemon.serves(2, 50));
  for (ProducerProcess* other : {&first, &second}) {
    EXPECT_TRUE(says(other->ask("stop"), {"streamed "}));
    EXPECT_EQ(other->ask("resumes"), "resumed 0");
  }
}

}  // namespace
}  // namespace overlap::testing
