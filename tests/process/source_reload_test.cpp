// Source kernels of the real daemon on a host: what a wrong file does at the start and at a reload.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/says.hpp"

#include <sys/stat.h>
#include <csignal>
#include <string>

namespace overlap::testing {
namespace {

const std::string kHalve = "//! kernel halve \"x / 2\"\n//! element halve f32 -> f32\n";

struct SourceReload : ProcessTest {
  std::string write_source(const std::string& text) {
    std::string file = path("halve.cu");
    write_file(file, text);
    ::chmod(file.c_str(), 0600);
    return file;
  }
  /// Runs the daemon to its end.
  Finished run_daemon(const std::string& file) {
    ProgramStart start;
    start.command = {program_path("overlapd"), "--backend", "host", "--socket", socket_path(),
                     "--kernel-source",        file};
    return run(start);
  }
};

TEST_F(SourceReload, EndsTheStartAsAWrongSettingDoesWithFileAndLine) {
  const std::string file = write_source("\n//! kernel halve\n");
  const Finished sut = run_daemon(file);
  EXPECT_EQ(sut.exit_code, 78);
  EXPECT_TRUE(says(sut.errors, {"overlapd: kernel-source: " + file + ":2: write '//! kernel"}));
}

TEST_F(SourceReload, EndsTheStartForAFileThatIsNotThere) {
  const Finished sut = run_daemon(path("none.cu"));
  EXPECT_EQ(sut.exit_code, 78);
  EXPECT_TRUE(says(sut.errors, {"kernel-source: ", "none.cu", "not there"}));
}

TEST_F(SourceReload, ReadsFilesAgainWhileProducersGoOn) {
  const std::string file = write_source(kHalve);
  DaemonProcess sut = start_daemon({"--kernel-source", file});
  ProducerProcess producer(socket_path(), 3, 5000);
  ASSERT_EQ(producer.hear(), "attached");
  ASSERT_EQ(producer.ask("stream next"), "streaming");

  sut.send_signal(SIGHUP);
  EXPECT_TRUE(sut.logs("reload: " + file + " has not changed"));
  write_source(kHalve + "// new\n");
  sut.send_signal(SIGHUP);
  EXPECT_TRUE(sut.logs("kernel 'halve' is now as")) << sut.log();
  write_source("//! kernel halve\n");
  sut.send_signal(SIGHUP);
  EXPECT_TRUE(sut.logs("kernel 'halve' stays as it was"));
  EXPECT_TRUE(sut.logs(file + ":1: write '//! kernel")) << sut.log();

  EXPECT_TRUE(sut.serves(1, 50));
  EXPECT_TRUE(says(producer.ask("stop"), {"streamed "}));
  EXPECT_EQ(producer.ask("resumes"), "resumed 0");
  EXPECT_EQ(sut.stop(), 0) << sut.log();
}

TEST_F(SourceReload, ChangesNothingWithoutAFileHoweverOften) {
  DaemonProcess sut = start_daemon();
  for (int i = 0; i < 100; ++i) {
    sut.send_signal(SIGHUP);
  }
  EXPECT_TRUE(sut.logs("there is no kernel-source file"));
  EXPECT_TRUE(sut.answers());
  EXPECT_EQ(sut.stop(), 0) << sut.log();
}

}  // namespace
}  // namespace overlap::testing
