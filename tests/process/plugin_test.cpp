// Plug-ins in the real daemon: those that are loaded are served, those that are not say why.

#include "tests/kernels/plugin_files.hpp"
#include "tests/process/process_test.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

struct Plugins : ProcessTest {
  test::PluginFiles files;

  [[nodiscard]] DaemonProcess start() const {
    return start_daemon({"--kernel-path", files.folder()});
  }
  [[nodiscard]] Finished ask(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {program_path("overlapctl"), "--socket", socket_path()});
    return run({.command = std::move(arguments)});
  }
};

TEST_F(Plugins, ServeTheirKernels) {
  files.add("good", "good.so");
  DaemonProcess daemon = start();
  EXPECT_TRUE(daemon.logs("plug-in " + files.path("good.so") + " (test 0.1): invert"));
  const std::string input = make_file("input", 100'003);
  const Finished sent = send({"--kernel", "copy|invert", "--slot-bytes", "4096", "--input", input,
                              "--output", path("output")});
  EXPECT_EQ(sent.exit_code, 0) << sent.errors;
  std::string expected = read_file(input);
  std::ranges::transform(expected, expected.begin(), [](char c) { return static_cast<char>(~c); });
  EXPECT_EQ(read_file(path("output")), expected);
}

TEST_F(Plugins, AreListedWithWhatWasRefusedAndWhy) {
  files.add("good", "good.so");
  files.add("good", "open.so", 0666);
  files.add("wrong_major", "old.so");
  files.add("no_entry", "other.so");
  files.add("taken_name", "taken.so");
  DaemonProcess daemon = start();
  const Finished sut = ask({"kernels"});
  EXPECT_EQ(sut.exit_code, 0) << sut.errors;
  EXPECT_TRUE(
      says(sut.output, {"scale: a * x + b", "from built-in; runs on host", "invert: every bit",
                        "from " + files.path("good.so"), "refused: " + files.path("open.so"),
                        "can be written by everybody", "refused: " + files.path("old.so"),
                        "ABI 2.0", "rebuild", "refused: " + files.path("other.so"), "no plug-in",
                        "refused: " + files.path("taken.so"), "'copy' is taken"}));
  for (const char* const name : {"open.so", "old.so", "other.so", "taken.so"}) {
    EXPECT_TRUE(daemon.logs("error plug-in " + files.path(name) + " is refused: "));
  }
  EXPECT_EQ(daemon.stop(), 0);
}

TEST_F(Plugins, AreFoundByNameOrNotAtAll) {
  files.add("good", "good.so");
  DaemonProcess daemon = start();
  const Finished found = ask({"kernels", "invert"});
  EXPECT_EQ(found.exit_code, 0);
  EXPECT_EQ(found.output.find("scale"), std::string::npos);
  const Finished missing = ask({"kernels", "inver"});
  EXPECT_EQ(missing.exit_code, 4);
  EXPECT_TRUE(says(missing.errors, {"'inver'", "overlapctl kernels"}));
  EXPECT_EQ(ask({"status", "invert"}).exit_code, 2);
}

TEST_F(Plugins, KeepTheDaemonFromStartingWhereAGivenFolderIsNotThere) {
  DaemonProcess daemon(socket_path(), {"--kernel-path", files.path("nothing")});
  EXPECT_EQ(daemon.exit_code(), 78);
  EXPECT_TRUE(says(daemon.log(), {"kernel-path", files.path("nothing"), "No such file"}));
}

TEST_F(Plugins, AreLeftAloneInAFolderThatOthersCanWrite) {
  files.add("good", "good.so");
  ASSERT_EQ(::chmod(files.folder().c_str(), 0777), 0);
  DaemonProcess daemon = start();
  EXPECT_TRUE(daemon.logs("plug-in " + files.folder() + " is refused: can be written by"));
  EXPECT_EQ(ask({"kernels", "invert"}).exit_code, 4);
}

}  // namespace
}  // namespace overlap::testing
