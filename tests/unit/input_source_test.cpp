#include "producer/send/input_source.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <cstring>
#include <string>
#include <vector>

namespace overlap {
namespace {

std::vector<std::byte> read_all(InputSource& source, std::size_t piece_bytes) {
  std::vector<std::byte> all;
  std::vector<std::byte> piece(piece_bytes);
  for (std::size_t got = source.read(piece); got != 0; got = source.read(piece)) {
    all.insert(all.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
  }
  return all;
}

FileDescriptor file_with(const std::string& text) {
  FileDescriptor file(::memfd_create("input", MFD_CLOEXEC));
  EXPECT_EQ(::write(file.get(), text.data(), text.size()), static_cast<ssize_t>(text.size()));
  ::lseek(file.get(), 0, SEEK_SET);
  return file;
}

TEST(PatternSource, IsTheDocumentedSequence) {
  PatternSource sut(16);
  const auto bytes = read_all(sut, 100);
  ASSERT_EQ(bytes.size(), 16U);
  float values[4];
  std::memcpy(values, bytes.data(), sizeof values);
  EXPECT_EQ(values[0], 0.0F);
  // 2654435761 >> 8 is 10368889; twice the factor wraps to 1013904226.
  EXPECT_EQ(values[1], 10368889.0F / 256);
  EXPECT_EQ(values[2], 3960563.0F / 256);
}

TEST(PatternSource, IsTheSameHoweverItIsCut) {
  PatternSource whole(1003);
  PatternSource cut(1003);
  EXPECT_EQ(read_all(whole, 4096), read_all(cut, 7));
}

TEST(PatternSource, EndsInAPieceOfAnElement) {
  PatternSource longer(8);
  PatternSource sut(6);
  auto expected = read_all(longer, 8);
  expected.resize(6);
  EXPECT_EQ(read_all(sut, 4), expected);
}

TEST(PatternSource, CanBeEmpty) {
  PatternSource sut(0);
  EXPECT_EQ(sut.pass_bytes(), 0U);
  EXPECT_TRUE(read_all(sut, 4).empty());
}

TEST(FileSource, KnowsTheLengthOfARegularFileAndReadsItTwice) {
  FileSource sut(file_with("some text"), "file");
  EXPECT_EQ(sut.pass_bytes(), 9U);
  EXPECT_EQ(sut.descriptor(), -1);
  const auto first = read_all(sut, 4);
  EXPECT_EQ(first.size(), 9U);
  sut.rewind();
  EXPECT_EQ(read_all(sut, 100), first);
}

TEST(FileSource, BeginsWhereTheFileStands) {
  FileDescriptor file = file_with("some text");
  ::lseek(file.get(), 5, SEEK_SET);
  FileSource sut(std::move(file), "file");
  EXPECT_EQ(sut.pass_bytes(), 4U);
  EXPECT_EQ(static_cast<char>(read_all(sut, 100).at(0)), 't');
}

TEST(FileSource, DoesNotKnowTheLengthOfAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  FileSource sut(FileDescriptor{ends[0]}, "pipe");
  EXPECT_FALSE(sut.pass_bytes());
  EXPECT_EQ(sut.descriptor(), ends[0]);
  ASSERT_EQ(::write(ends[1], "ab", 2), 2);
  ::close(ends[1]);
  EXPECT_EQ(read_all(sut, 100).size(), 2U);
  EXPECT_THROW(sut.rewind(), InputError);
}

TEST(FileSource, ReadsAFileThatSaysItIsEmptyAndIsNot) {
  const auto sut = FileSource::open("/proc/self/status");
  EXPECT_FALSE(sut->pass_bytes());
  EXPECT_FALSE(read_all(*sut, 100).empty());
}

TEST(FileSource, NamesWhatCannotBeRead) {
  try {
    static_cast<void>(FileSource::open("/nowhere/file"));
    FAIL() << "there is no such file";
  } catch (const InputError& error) {
    EXPECT_NE(std::string(error.what()).find("/nowhere/file"), std::string::npos);
  }
  EXPECT_THROW(static_cast<void>(FileSource::open("/tmp")), InputError);
}

TEST(FileSource, KnowsItself) {
  FileDescriptor file = file_with("text");
  const FileDescriptor again(::dup(file.get()));
  const FileDescriptor other = file_with("text");
  const FileSource sut(std::move(file), "file");
  EXPECT_TRUE(sut.is_same_file(again.get()));
  EXPECT_FALSE(sut.is_same_file(other.get()));
}

}  // namespace
}  // namespace overlap
