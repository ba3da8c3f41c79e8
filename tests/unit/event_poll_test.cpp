#include "daemon/control/event_poll.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <array>
#include <cstdint>
#include <set>
#include <system_error>
#include <thread>
#include <vector>

namespace overlap {
namespace {

constexpr int kAtOnce = 0;
constexpr int kNoLimit = -1;

TEST(EventPoll, ReportsNothingWhereNothingIsReady) {
  EventPoll sut;
  const FileDescriptor quiet = make_eventfd();
  std::array<PolledEvent, 4> storage;
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
  ASSERT_FALSE(sut.add(quiet.get(), EventSource::mailbox));
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
}

TEST(EventPoll, SaysWhatAnEventIsAbout) {
  EventPoll sut;
  const FileDescriptor rung = make_eventfd();
  ring(rung.get());
  ASSERT_FALSE(sut.add(rung.get(), EventSource::doorbell, UINT32_MAX));
  std::array<PolledEvent, 4> storage;
  const auto events = sut.wait(storage, kNoLimit);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].source, EventSource::doorbell);
  EXPECT_EQ(events[0].key, UINT32_MAX);
}

TEST(EventPoll, ReportsALevelUntilItIsRead) {
  EventPoll sut;
  const FileDescriptor rung = make_eventfd();
  ring(rung.get());
  ASSERT_FALSE(sut.add(rung.get(), EventSource::mailbox));
  std::array<PolledEvent, 4> storage;
  EXPECT_EQ(sut.wait(storage, kAtOnce).size(), 1U);
  EXPECT_EQ(sut.wait(storage, kAtOnce).size(), 1U);
  silence(rung.get());
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
}

TEST(EventPoll, ReportsAnEdgeOncePerRingThoughNobodyReads) {
  EventPoll sut;
  const FileDescriptor bell = make_eventfd();
  ASSERT_FALSE(sut.add(bell.get(), EventSource::doorbell, 7, EventPoll::Trigger::edge));
  std::array<PolledEvent, 4> storage;
  for (int ring_count = 0; ring_count < 3; ++ring_count) {
    ring(bell.get());
    EXPECT_EQ(sut.wait(storage, kNoLimit).size(), 1U);
    EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
  }
}

TEST(EventPoll, ReportsARingFromBeforeTheAdding) {
  EventPoll sut;
  const FileDescriptor bell = make_eventfd();
  ring(bell.get());
  ASSERT_FALSE(sut.add(bell.get(), EventSource::doorbell, 7, EventPoll::Trigger::edge));
  std::array<PolledEvent, 4> storage;
  EXPECT_EQ(sut.wait(storage, kAtOnce).size(), 1U);
}

TEST(EventPoll, ReportsAHangUp) {
  EventPoll sut;
  int ends[2] = {-1, -1};
  ASSERT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends), 0);
  const FileDescriptor near(ends[0]);
  FileDescriptor far(ends[1]);
  ASSERT_FALSE(sut.add(near.get(), EventSource::socket, 3));
  std::array<PolledEvent, 4> storage;
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
  far.reset();
  const auto events = sut.wait(storage, kNoLimit);
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].key, 3U);
}

TEST(EventPoll, ReportsTheRestNextTimeWhereTheStorageIsFull) {
  EventPoll sut;
  std::vector<FileDescriptor> bells;
  for (std::uint32_t key = 0; key < 5; ++key) {
    bells.push_back(make_eventfd());
    ring(bells.back().get());
    ASSERT_FALSE(sut.add(bells.back().get(), EventSource::doorbell, key, EventPoll::Trigger::edge));
  }
  std::array<PolledEvent, 2> storage;
  std::set<std::uint32_t> keys;
  for (const std::size_t expected : {std::size_t{2}, std::size_t{2}, std::size_t{1}}) {
    const auto events = sut.wait(storage, kAtOnce);
    ASSERT_EQ(events.size(), expected);
    for (const PolledEvent& event : events) {
      keys.insert(event.key);
    }
  }
  EXPECT_EQ(keys.size(), 5U);
}

TEST(EventPoll, ForgetsWhatIsRemoved) {
  EventPoll sut;
  const FileDescriptor rung = make_eventfd();
  ring(rung.get());
  ASSERT_FALSE(sut.add(rung.get(), EventSource::mailbox));
  sut.remove(rung.get());
  sut.remove(rung.get());
  sut.remove(-1);
  std::array<PolledEvent, 4> storage;
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
}

TEST(EventPoll, WakesForADescriptorThatAnotherThreadAdds) {
  EventPoll sut;
  const FileDescriptor rung = make_eventfd();
  ring(rung.get());
  std::thread other([&] { EXPECT_FALSE(sut.add(rung.get(), EventSource::doorbell, 9)); });
  std::array<PolledEvent, 4> storage;
  const auto events = sut.wait(storage, kNoLimit);
  other.join();
  ASSERT_EQ(events.size(), 1U);
  EXPECT_EQ(events[0].key, 9U);
}

TEST(EventPoll, SaysWhyItCannotWatch) {
  EventPoll sut;
  const FileDescriptor bell = make_eventfd();
  ASSERT_FALSE(sut.add(bell.get(), EventSource::mailbox));
  EXPECT_EQ(sut.add(bell.get(), EventSource::mailbox), std::errc::file_exists);
  EXPECT_EQ(sut.add_disarmed(bell.get(), EventSource::doorbell, 1), std::errc::file_exists);
  EXPECT_EQ(sut.add(-1, EventSource::mailbox), std::errc::bad_file_descriptor);
}

TEST(EventPoll, ReportsOnlyWhatIsArmed) {
  EventPoll sut;
  const FileDescriptor bell = make_eventfd();
  ASSERT_FALSE(sut.add_disarmed(bell.get(), EventSource::doorbell, 7));
  ring(bell.get());
  std::array<PolledEvent, 4> storage;
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
  // A ring from before the arming counts.
  sut.arm(bell.get(), EventSource::doorbell, 7);
  ASSERT_EQ(sut.wait(storage, kAtOnce).size(), 1U);
  EXPECT_EQ(storage[0].source, EventSource::doorbell);
  EXPECT_EQ(storage[0].key, 7U);
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
  ring(bell.get());
  EXPECT_EQ(sut.wait(storage, kAtOnce).size(), 1U);
  sut.disarm(bell.get(), EventSource::doorbell, 7);
  ring(bell.get());
  EXPECT_TRUE(sut.wait(storage, kAtOnce).empty());
}

}  // namespace
}  // namespace overlap
