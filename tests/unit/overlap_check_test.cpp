// Runs the program overlap-check, which lies beside this test, and reads what it says.

#include <gtest/gtest.h>

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <string>
#include <vector>

namespace overlap {
namespace {

using Arguments = std::vector<std::string>;

struct Outcome {
  int exit_status;
  /// Standard output and standard error together.
  std::string text;
};

Outcome run_check(Arguments arguments) {
  arguments.insert(
      arguments.begin(),
      (std::filesystem::read_symlink("/proc/self/exe").parent_path() / "overlap-check").string());
  std::vector<char*> argv;
  for (std::string& argument : arguments) {
    argv.push_back(argument.data());
  }
  argv.push_back(nullptr);
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  posix_spawn_file_actions_t actions;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
  ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDERR_FILENO);
  pid_t child = -1;
  EXPECT_EQ(::posix_spawn(&child, argv[0], &actions, nullptr, argv.data(), environ), 0);
  ::posix_spawn_file_actions_destroy(&actions);
  ::close(ends[1]);
  Outcome outcome{.exit_status = -1, .text = {}};
  std::array<char, 4096> buffer{};
  for (ssize_t count = 0; (count = ::read(ends[0], buffer.data(), buffer.size())) > 0;) {
    outcome.text.append(buffer.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  int status = 0;
  EXPECT_EQ(::waitpid(child, &status, 0), child);
  outcome.exit_status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return outcome;
}

class OverlapCheck : public ::testing::Test {
 protected:
  OverlapCheck() {
    std::string name = ::testing::TempDir() + "overlap_check_XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~OverlapCheck() override { std::filesystem::remove_all(folder_); }

  /// @return the path of a file with these elements in it
  template <typename Element>
  std::string file(const std::string& name, const std::vector<Element>& elements) {
    std::string path = folder_ / name;
    std::ofstream(path, std::ios::binary)
        .write(reinterpret_cast<const char*>(elements.data()),
               static_cast<std::streamsize>(elements.size() * sizeof(Element)));
    return path;
  }

  template <typename Element>
  Outcome check(const std::string& kernel, const std::string& params, std::size_t slot_bytes,
                const std::vector<Element>& input, const std::vector<Element>& output) {
    return run_check({"--kernel", kernel, "--params", params, "--input", file("input", input),
                      "--slot-bytes", std::to_string(slot_bytes), "--output",
                      file("output", output)});
  }

  std::filesystem::path folder_;
};

using U8 = std::vector<std::uint8_t>;
using I16 = std::vector<std::int16_t>;
using I32 = std::vector<std::int32_t>;
using F32 = std::vector<float>;
using F64 = std::vector<double>;

TEST_F(OverlapCheck, AcceptsACopyOfAnyLength) {
  EXPECT_EQ(check<std::uint8_t>("copy", "", 4, {}, {}).exit_status, 0);
  EXPECT_EQ(check<std::uint8_t>("copy", "", 4, {7}, {7}).exit_status, 0);
  EXPECT_EQ(check<std::uint8_t>("copy", "", 4, {1, 2, 3, 4}, {1, 2, 3, 4}).exit_status, 0);
  EXPECT_EQ(check<std::uint8_t>("copy", "", 4, {1, 2, 3, 4, 5}, {1, 2, 3, 4, 5}).exit_status, 0);
}

TEST_F(OverlapCheck, NamesTheFirstWrongByte) {
  const Outcome sut = check<std::uint8_t>("copy", "", 2, {1, 2, 3, 4}, {1, 2, 3, 0x40});
  EXPECT_EQ(sut.exit_status, 1);
  EXPECT_NE(sut.text.find("offset 3: expected 0x04, got 0x40"), std::string::npos) << sut.text;
}

TEST_F(OverlapCheck, RefusesAnOutputThatIsShortOrLong) {
  const Outcome short_one = check<std::uint8_t>("copy", "", 2, {1, 2, 3}, {1, 2});
  EXPECT_EQ(short_one.exit_status, 1);
  EXPECT_NE(short_one.text.find("ends after 2 bytes"), std::string::npos) << short_one.text;
  const Outcome long_one = check<std::uint8_t>("copy", "", 2, {1, 2, 3}, {1, 2, 3, 4});
  EXPECT_EQ(long_one.exit_status, 1);
  EXPECT_NE(long_one.text.find("goes on after 3 bytes"), std::string::npos) << long_one.text;
  EXPECT_EQ(check<std::uint8_t>("copy", "", 2, {}, {1}).exit_status, 1);
}

TEST_F(OverlapCheck, SaturatesAndRoundsTiesToEven) {
  EXPECT_EQ(check("scale", "a=2,b=1,type=u8", 2, U8{0, 1, 127, 128, 255}, U8{1, 3, 255, 255, 255})
                .exit_status,
            0);
  EXPECT_EQ(check("scale", "a=0.5,type=u8", 8, U8{1, 3, 5, 7}, U8{0, 2, 2, 4}).exit_status, 0);
  EXPECT_EQ(check("scale", "a=-1,type=u8", 8, U8{0, 1, 255}, U8{0, 0, 0}).exit_status, 0);
  EXPECT_EQ(
      check("scale", "a=2,type=i16", 4, I16{-20000, -1, 20000}, I16{-32768, -2, 32767}).exit_status,
      0);
  EXPECT_EQ(check("scale", "a=3,b=-1,type=i32", 4, I32{-1'000'000'000, 5, 1'000'000'000},
                  I32{std::numeric_limits<std::int32_t>::min(), 14,
                      std::numeric_limits<std::int32_t>::max()})
                .exit_status,
            0);
}

TEST_F(OverlapCheck, FindsAWrongScale) {
  const Outcome sut = check("scale", "a=2,b=1,type=u8", 2, U8{0, 1, 2}, U8{1, 3, 6});
  EXPECT_EQ(sut.exit_status, 1);
  EXPECT_NE(sut.text.find("offset 2: expected 0x05, got 0x06"), std::string::npos) << sut.text;
}

TEST_F(OverlapCheck, RoundsFloatsAfterEachStep) {
  // 0x1.000002p0 squared is 0x1.000004000004p0: rounded first, the second step leaves 0x1p-22.
  const float x = 0x1.000002p0F;
  EXPECT_EQ(
      check("scale", "a=1.00000011920928955078125,b=-1", 8, F32{x}, F32{0x1p-22F}).exit_status, 0);
  EXPECT_EQ(check("scale", "a=3,b=0.5,type=f64", 8, F64{0.25}, F64{1.25}).exit_status, 0);
  EXPECT_EQ(check("scale", "a=3,b=0.5,type=f64", 8, F64{0.25}, F64{1.5}).exit_status, 1);
}

TEST_F(OverlapCheck, TakesAnyNanForANanAndNothingElse) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_EQ(check("scale", "a=1", 8, F32{nan, 1}, F32{-nan, 1}).exit_status, 0);
  EXPECT_EQ(check("scale", "a=1", 8, F32{nan, 1}, F32{0, 1}).exit_status, 1);
  EXPECT_EQ(check("copy", "", 8, F32{nan, 1}, F32{-nan, 1}).exit_status, 1);
}

TEST_F(OverlapCheck, AddsTheHalvesOfEachSlot) {
  EXPECT_EQ(check("vector_add", "", 16, F32{1, 2, 10, 20, 3, 30}, F32{11, 22, 33}).exit_status, 0);
  EXPECT_EQ(check("vector_add", "repeat=50", 8, F32{1, 2, 10, 20}, F32{3, 30}).exit_status, 0);
  EXPECT_EQ(check("vector_add", "", 16, F32{1, 2, 10, 20}, F32{11, 23}).exit_status, 1);
}

TEST_F(OverlapCheck, MakesThePatternAgain) {
  // Worked out by hand: 2654435761 is 0x9e3779b1; the next two are 0x3c6ef362 and 0xdaa66d13.
  const F32 pattern{0, static_cast<float>(0x9e3779) / 256, static_cast<float>(0x3c6ef3) / 256,
                    static_cast<float>(0xdaa66d) / 256};
  const auto check_pattern = [this](const std::string& input, const F32& output) {
    return run_check({"--kernel", "copy", "--input", input, "--slot-bytes", "8", "--output",
                      file("output", output)});
  };
  EXPECT_EQ(check_pattern("pattern:16", pattern).exit_status, 0);
  EXPECT_EQ(check_pattern("pattern:12", pattern).exit_status, 1);
  EXPECT_EQ(check_pattern("pattern:0", {}).exit_status, 0);
  EXPECT_EQ(check_pattern("pattern:7", {}).exit_status, 2);
}

TEST_F(OverlapCheck, CannotBeUsedInAnotherWay) {
  const std::string empty = file<std::uint8_t>("empty", {});
  const Arguments whole{"--kernel",     "copy", "--input",  empty,
                        "--slot-bytes", "4",    "--output", empty};
  ASSERT_EQ(run_check(whole).exit_status, 0);
  for (std::size_t at = 0; at < whole.size(); at += 2) {
    Arguments arguments = whole;
    arguments.erase(arguments.begin() + static_cast<std::ptrdiff_t>(at),
                    arguments.begin() + static_cast<std::ptrdiff_t>(at) + 2);
    const Outcome sut = run_check(arguments);
    EXPECT_EQ(sut.exit_status, 2);
    EXPECT_NE(sut.text.find(whole[at] + " is missing"), std::string::npos) << sut.text;
  }
  for (const Arguments& more :
       {Arguments{"--kernel", "copy"}, Arguments{"--speed", "9"}, Arguments{"junk"},
        Arguments{"--params", "a=1"}, Arguments{"--params", "a"}}) {
    Arguments arguments = whole;
    arguments.insert(arguments.end(), more.begin(), more.end());
    EXPECT_EQ(run_check(arguments).exit_status, 2) << ::testing::PrintToString(more);
  }
  for (const Arguments& change :
       {Arguments{"1", "fft"}, Arguments{"3", "/nowhere/input"}, Arguments{"3", "/proc"},
        Arguments{"5", "0"}, Arguments{"5", "-1"}, Arguments{"5", "4K"},
        Arguments{"7", "/nowhere/output"}}) {
    Arguments arguments = whole;
    arguments[std::stoul(change[0])] = change[1];
    EXPECT_EQ(run_check(arguments).exit_status, 2) << ::testing::PrintToString(change);
  }
}

TEST_F(OverlapCheck, RefusesScaleParametersAndLengthsThatDoNotFit) {
  for (const char* const params : {"type=u16", "a=nan", "a=inf", "a=", "a=1,a=1", "c=1", "a=0x1"}) {
    EXPECT_EQ(check<std::uint8_t>("scale", params, 4, {}, {}).exit_status, 2) << params;
  }
  EXPECT_EQ(check("scale", "type=i16", 4, U8{1, 2, 3}, U8{1, 2, 3}).exit_status, 2);
  EXPECT_EQ(check("vector_add", "", 16, U8{1, 2, 3, 4}, U8{1, 2}).exit_status, 2);
}

}  // namespace
}  // namespace overlap
