#include "producer/completion_poll.hpp"

#include <gtest/gtest.h>

#include <poll.h>

namespace overlap {
namespace {

bool readable(const CompletionPoll& poll) {
  pollfd watched{poll.descriptor(), POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

TEST(CompletionPoll, DoesNothingUntilItIsOpen) {
  const CompletionPoll sut;
  EXPECT_FALSE(sut.is_open());
  sut.wake();
  sut.quiet();
  EXPECT_EQ(sut.descriptor(), -1);
}

TEST(CompletionPoll, IsReadableForItsOwnReasonAndForTheChannels) {
  const FileDescriptor wake = make_eventfd();
  CompletionPoll sut;
  sut.open(wake.get());
  EXPECT_FALSE(readable(sut));
  sut.wake();
  EXPECT_TRUE(readable(sut));
  sut.quiet();
  EXPECT_FALSE(readable(sut));
  ring(wake.get());
  EXPECT_TRUE(readable(sut));
  sut.quiet();
  EXPECT_FALSE(readable(sut));
}

TEST(CompletionPoll, StaysTheSameAcrossChannels) {
  const FileDescriptor first = make_eventfd();
  const FileDescriptor second = make_eventfd();
  CompletionPoll sut;
  sut.open(first.get());
  const int descriptor = sut.descriptor();
  sut.detach();
  sut.attach(second.get());
  ring(first.get());
  EXPECT_FALSE(readable(sut));
  ring(second.get());
  EXPECT_TRUE(readable(sut));
  EXPECT_EQ(sut.descriptor(), descriptor);
  sut.close();
  EXPECT_FALSE(sut.is_open());
}

}  // namespace
}  // namespace overlap
