#include "tests/process/process_test.hpp"

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace overlap::testing {

namespace fs = std::filesystem;

ProcessTest::ProcessTest() {
  // A program that has gone is a result to look at, not the end of the test.
  std::signal(SIGPIPE, SIG_IGN);
  // A socket's path has room for 107 bytes, which a folder deep down may use up.
  const std::string temporary = fs::temp_directory_path().string();
  std::string name = (temporary.size() < 60 ? temporary : "/tmp") + "/overlap_process_XXXXXX";
  if (::mkdtemp(name.data()) == nullptr) {
    throw std::runtime_error("cannot make a folder like " + name);
  }
  folder_ = name;
  fs::create_directory(path("run"));
}

ProcessTest::~ProcessTest() {
  std::error_code ignored;
  fs::remove_all(folder_, ignored);
}

std::vector<std::string> ProcessTest::socket_folder() const {
  std::vector<std::string> names;
  for (const auto& entry : fs::directory_iterator(path("run"))) {
    names.push_back(entry.path().filename());
  }
  std::sort(names.begin(), names.end());
  return names;
}

DaemonProcess ProcessTest::start_daemon(const std::vector<std::string>& options) const {
  DaemonProcess daemon(socket_path(), options);
  EXPECT_TRUE(daemon.answers()) << daemon.log();
  return daemon;
}

ChildProgram ProcessTest::start_send(std::vector<std::string> arguments, int input) const {
  arguments.insert(arguments.begin(), {program_path("overlap-send"), "--socket", socket_path()});
  return ChildProgram({.command = std::move(arguments), .input = input});
}

Finished ProcessTest::send(std::vector<std::string> arguments, int input) const {
  ChildProgram program = start_send(std::move(arguments), input);
  return finish(program);
}

Finished ProcessTest::run(const ProgramStart& start) {
  ChildProgram program(start);
  return finish(program);
}

Finished ProcessTest::finish(ChildProgram& program) {
  const std::optional<int> exit_code = program.exit_code();
  return {exit_code, program.output(), program.errors()};
}

std::string ProcessTest::some_bytes(std::uint64_t bytes) {
  std::string text(bytes, '\0');
  std::uint64_t state = 0x9e3779b97f4a7c15ULL;
  for (char& letter : text) {
    state ^= state << 13U;
    state ^= state >> 7U;
    state ^= state << 17U;
    letter = static_cast<char>(state >> 56U);
  }
  return text;
}

std::string ProcessTest::make_file(std::string_view name, std::uint64_t bytes) const {
  std::string file = path(name);
  write_file(file, some_bytes(bytes));
  return file;
}

std::string ProcessTest::read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

void ProcessTest::write_file(const std::string& path, std::string_view bytes) {
  std::ofstream(path, std::ios::binary)
      .write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

::testing::AssertionResult ProcessTest::is_right(const std::string& kernel,
                                                 const std::string& params,
                                                 const std::string& input, std::uint64_t slot_bytes,
                                                 const std::string& output) {
  const Finished check = run(
      {.command = {program_path("overlap-check"), "--kernel", kernel, "--params", params, "--input",
                   input, "--slot-bytes", std::to_string(slot_bytes), "--output", output}});
  if (check.exit_code == 0) {
    return ::testing::AssertionSuccess();
  }
  return ::testing::AssertionFailure() << check.output << check.errors;
}

}  // namespace overlap::testing
