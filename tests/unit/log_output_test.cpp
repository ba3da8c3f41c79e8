#include "daemon/telemetry/log_output.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>

namespace overlap {
namespace {

/// Two connected descriptors: what is written to one is read from the other.
class Ends {
 public:
  static std::unique_ptr<Ends> of_pipe() {
    auto ends = std::make_unique<Ends>();
    EXPECT_EQ(::pipe(ends->descriptors_.data()), 0);
    return ends;
  }
  static std::unique_ptr<Ends> of_socket() {
    auto ends = std::make_unique<Ends>();
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_STREAM, 0, ends->descriptors_.data()), 0);
    return ends;
  }
  Ends() = default;
  ~Ends() {
    for (const int descriptor : descriptors_) {
      ::close(descriptor);
    }
  }
  Ends(const Ends&) = delete;
  Ends& operator=(const Ends&) = delete;

  [[nodiscard]] int reader() const noexcept { return descriptors_[0]; }
  [[nodiscard]] int writer() const noexcept { return descriptors_[1]; }

  void close_reader() {
    ::close(descriptors_[0]);
    descriptors_[0] = -1;
  }

  /// Everything that can be read without waiting.
  [[nodiscard]] std::string drain() const {
    ::fcntl(reader(), F_SETFL, O_NONBLOCK);
    std::string text;
    std::array<char, 65536> buffer{};
    for (ssize_t count = 0; (count = ::read(reader(), buffer.data(), buffer.size())) > 0;) {
      text.append(buffer.data(), static_cast<std::size_t>(count));
    }
    return text;
  }

 private:
  std::array<int, 2> descriptors_{-1, -1};
};

/// Writes numbered lines until one is refused. @return what was taken
std::string fill(LogOutput& output) {
  std::string taken;
  for (int number = 0;; ++number) {
    const std::string line = "line " + std::to_string(number) + std::string(5000, '.') + "\n";
    if (!output.write(line)) {
      return taken;
    }
    taken += line;
  }
}

TEST(LogOutput, WritesToAPipe) {
  const auto ends = Ends::of_pipe();
  LogOutput sut(ends->writer());
  EXPECT_TRUE(sut.write("one\n"));
  EXPECT_TRUE(sut.write("two\n"));
  EXPECT_EQ(ends->drain(), "one\ntwo\n");
}

TEST(LogOutput, RefusesInsteadOfWaitingForAPipeAndLosesNothingItTook) {
  const auto ends = Ends::of_pipe();
  LogOutput sut(ends->writer());
  const std::string taken = fill(sut);
  std::string read = ends->drain();
  EXPECT_TRUE(sut.write("last\n"));
  read += ends->drain();
  EXPECT_EQ(read, taken + "last\n");
}

TEST(LogOutput, RefusesInsteadOfWaitingForASocketAndLosesNothingItTook) {
  const auto ends = Ends::of_socket();
  LogOutput sut(ends->writer());
  const std::string taken = fill(sut);
  std::string read = ends->drain();
  EXPECT_TRUE(sut.write("last\n"));
  read += ends->drain();
  EXPECT_EQ(read, taken + "last\n");
}

TEST(LogOutput, LeavesTheSharedDescriptorBlocking) {
  const auto ends = Ends::of_pipe();
  const LogOutput sut(ends->writer());
  EXPECT_EQ(::fcntl(ends->writer(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(LogOutput, RefusesWhenTheReaderIsGone) {
  std::signal(SIGPIPE, SIG_IGN);
  for (const auto& ends : {Ends::of_pipe(), Ends::of_socket()}) {
    LogOutput sut(ends->writer());
    ends->close_reader();
    EXPECT_FALSE(sut.write("one\n"));
  }
}

TEST(LogOutput, AppendsToAFile) {
  std::string path = ::testing::TempDir() + "overlapd_log_XXXXXX";
  ::close(::mkstemp(path.data()));
  for (const char* const line : {"one\n", "two\n"}) {
    LogOutput sut(path);
    EXPECT_TRUE(sut.write(line));
  }
  std::ifstream stream(path);
  EXPECT_EQ(std::string(std::istreambuf_iterator<char>(stream), {}), "one\ntwo\n");
  ::unlink(path.c_str());
}

TEST(LogOutput, NamesAFileThatItCannotOpen) {
  try {
    const LogOutput sut(std::string("/nowhere/overlapd.log"));
    FAIL();
  } catch (const std::system_error& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/overlapd.log"), std::string::npos);
  }
}

TEST(LogOutput, RefusesADescriptorThatIsNotOpen) {
  EXPECT_THROW(const LogOutput sut(-1), std::system_error);
}

}  // namespace
}  // namespace overlap
