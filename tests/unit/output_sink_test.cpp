#include "producer/send/output_sink.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <array>
#include <csignal>
#include <string>

namespace overlap {
namespace {

std::span<const std::byte> bytes_of(const std::string& text) {
  return std::as_bytes(std::span(text.data(), text.size()));
}

TEST(OutputSink, ReplacesWhatWasInAFile) {
  const int memory = ::memfd_create("output", MFD_CLOEXEC);
  ASSERT_EQ(::write(memory, "older and longer", 16), 16);
  ::lseek(memory, 0, SEEK_SET);
  OutputSink sut(FileDescriptor(memory), "file");
  sut.begin();
  sut.write(bytes_of("new"));
  std::array<char, 16> text{};
  EXPECT_EQ(::pread(memory, text.data(), text.size(), 0), 3);
  EXPECT_STREQ(text.data(), "new");
}

TEST(OutputSink, SaysThatTheReaderHasGone) {
  std::signal(SIGPIPE, SIG_IGN);
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ::close(ends[0]);
  OutputSink sut(FileDescriptor(ends[1]), "standard output");
  try {
    sut.write(bytes_of("text"));
    FAIL() << "nobody reads";
  } catch (const OutputError& error) {
    EXPECT_NE(std::string(error.what()).find("has gone"), std::string::npos);
  }
}

TEST(OutputSink, SaysThatTheDiskIsFull) {
  OutputSink sut = OutputSink::open("/dev/full");
  sut.begin();
  try {
    sut.write(bytes_of("text"));
    FAIL() << "there is no room";
  } catch (const OutputError& error) {
    EXPECT_NE(std::string(error.what()).find("make room"), std::string::npos);
  }
}

TEST(OutputSink, NamesWhatCannotBeOpened) {
  EXPECT_THROW(static_cast<void>(OutputSink::open("/nowhere/file")), OutputError);
}

}  // namespace
}  // namespace overlap
