#include "shared/file_descriptor.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>
#include <unistd.h>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <system_error>
#include <type_traits>
#include <utility>

namespace overlap {
namespace {

bool is_open(int fd) { return ::fcntl(fd, F_GETFD) >= 0; }

bool is_readable(const FileDescriptor& fd) {
  pollfd what{fd.get(), POLLIN, 0};
  return ::poll(&what, 1, 0) == 1;
}

std::uint64_t read_count(const FileDescriptor& fd) {
  std::uint64_t count = 0;
  EXPECT_EQ(::read(fd.get(), &count, sizeof count), 8);
  return count;
}

static_assert(!std::is_copy_constructible_v<FileDescriptor>);
static_assert(!std::is_copy_assignable_v<FileDescriptor>);
static_assert(!std::is_convertible_v<int, FileDescriptor>);

TEST(FileDescriptor, IsEmptyByDefaultAndForAnyNegativeNumber) {
  EXPECT_FALSE(FileDescriptor());
  EXPECT_EQ(FileDescriptor().get(), -1);
  EXPECT_EQ(FileDescriptor(-7).get(), -1);
  FileDescriptor sut;
  sut.reset();
  EXPECT_EQ(sut.release(), -1);
}

TEST(FileDescriptor, OwnsNumberZeroToo) {
  FileDescriptor sut(0);
  EXPECT_TRUE(sut);
  EXPECT_EQ(sut.release(), 0);
}

TEST(FileDescriptor, ClosesAtTheEndOfItsLife) {
  int number = -1;
  {
    const FileDescriptor sut = make_eventfd();
    number = sut.get();
    EXPECT_TRUE(is_open(number));
  }
  EXPECT_FALSE(is_open(number));
}

TEST(FileDescriptor, ClosesOnResetAndIsEmptyThen) {
  FileDescriptor sut = make_eventfd();
  const int number = sut.get();
  sut.reset();
  EXPECT_FALSE(is_open(number));
  EXPECT_FALSE(sut);
}

TEST(FileDescriptor, GivesOwnershipAway) {
  FileDescriptor sut = make_eventfd();
  const FileDescriptor taken(sut.release());
  EXPECT_FALSE(sut);
  sut.reset();
  EXPECT_TRUE(is_open(taken.get()));
}

TEST(FileDescriptor, IsEmptyOnceMovedFrom) {
  FileDescriptor from = make_eventfd();
  const int number = from.get();
  const FileDescriptor sut(std::move(from));
  EXPECT_EQ(from.get(), -1);  // NOLINT(bugprone-use-after-move): that is what is tested
  EXPECT_EQ(sut.get(), number);
  EXPECT_TRUE(is_open(number));
}

TEST(FileDescriptor, ClosesWhatItHeldWhenItIsAssignedAnother) {
  FileDescriptor sut = make_eventfd();
  FileDescriptor other = make_eventfd();
  const int old_number = sut.get();
  const int new_number = other.get();
  sut = std::move(other);
  EXPECT_FALSE(is_open(old_number));
  EXPECT_EQ(sut.get(), new_number);
  EXPECT_TRUE(is_open(new_number));
}

TEST(FileDescriptor, SurvivesAssignmentToItself) {
  FileDescriptor sut = make_eventfd();
  FileDescriptor& same = sut;
  sut = std::move(same);
  EXPECT_TRUE(sut);
  EXPECT_TRUE(is_open(sut.get()));
}

TEST(Eventfd, StartsSilentNonBlockingAndClosedOnExec) {
  const FileDescriptor sut = make_eventfd();
  EXPECT_FALSE(is_readable(sut));
  EXPECT_NE(::fcntl(sut.get(), F_GETFD) & FD_CLOEXEC, 0);
  EXPECT_NE(::fcntl(sut.get(), F_GETFL) & O_NONBLOCK, 0);
}

TEST(Eventfd, CountsEveryRing) {
  const FileDescriptor sut = make_eventfd();
  for (int i = 0; i < 3; ++i) {
    ring(sut.get());
  }
  EXPECT_TRUE(is_readable(sut));
  EXPECT_EQ(read_count(sut), 3U);
}

TEST(Eventfd, IsSilencedWhateverItsCount) {
  const FileDescriptor sut = make_eventfd();
  silence(sut.get());
  EXPECT_FALSE(is_readable(sut));
  ring(sut.get());
  ring(sut.get());
  silence(sut.get());
  EXPECT_FALSE(is_readable(sut));
}

TEST(Eventfd, StaysReadableWhenASaturatedOneIsRung) {
  const FileDescriptor sut = make_eventfd();
  const std::uint64_t most = UINT64_MAX - 1;
  ASSERT_EQ(::write(sut.get(), &most, sizeof most), 8);
  ring(sut.get());
  EXPECT_TRUE(is_readable(sut));
  EXPECT_EQ(read_count(sut), most);
}

TEST(Eventfd, SaysWhyNotWhenThereAreNoDescriptorsLeft) {
  // UndefinedBehaviorSanitizer needs descriptors when it first meets a type: it meets it here, and
  // what was thrown is looked at when the limit is back.
  const std::system_error expected(EMFILE, std::generic_category(), "eventfd");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const rlimit none{0, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &none), 0);
  std::exception_ptr thrown;
  try {
    const FileDescriptor sut = make_eventfd();
  } catch (...) {
    thrown = std::current_exception();
  }
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  ASSERT_TRUE(thrown);
  try {
    std::rethrow_exception(thrown);
  } catch (const std::system_error& error) {
    EXPECT_STREQ(error.what(), expected.what());
  }
}

}  // namespace
}  // namespace overlap
