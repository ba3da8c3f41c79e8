#include "daemon/control/session_table.hpp"

#include "tests/unit/says.hpp"
#include "tests/unit/session_table_fixture.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>

#include <chrono>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::channel_bytes;
using testing::eventually;
using testing::kSlots;
using testing::page_slots;
using testing::RawClient;
using testing::says;

using SessionRoomTest = testing::SessionTableFixture;

TEST_F(SessionRoomTest, GivesEverythingBackWhenTheProducerGoes) {
  start();
  RawClient sut = attached();
  EXPECT_EQ(daemon_->status().channel_count, 1U);
  EXPECT_EQ(daemon_->status().pinned_bytes, channel_bytes(page_slots(kSlots)));
  sut.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, CountsAndGivesBackWhatKernelsKeep) {
  start();
  RawClient sut = client();
  sut.attach(page_slots(kSlots), "integrate:count=2");
  // A sum of 8 bytes for each value of 4 of an input area.
  EXPECT_GE(daemon_->status().pinned_bytes, channel_bytes(page_slots(kSlots)) + 8192);
  sut.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, SurvivesAHangUpWhileConnected) {
  start();
  client().hang_up();
  RawClient asking = client();
  static_cast<void>(asking.ask_status());
  asking.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, SurvivesAHangUpWhileAllocating) {
  start();
  device_.pin_gate.close();
  RawClient busy = client();
  busy.send_request(page_slots(kSlots));
  EXPECT_EQ(busy.receive_reply().code, AttachCode::accepted);
  busy.map();
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  // The worker is busy: the request stands in its queue.
  EXPECT_EQ(daemon_->status().pinned_bytes, 2 * channel_bytes(page_slots(kSlots)));
  sut.hang_up();
  EXPECT_EQ(daemon_->status().channel_count, 1U);
  device_.pin_gate.open();
  busy.await_ready();
  EXPECT_TRUE(serves(busy));
  EXPECT_TRUE(eventually(
      [&] { return daemon_->status().pinned_bytes == channel_bytes(page_slots(kSlots)); }));
  busy.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, SurvivesAHangUpWhileOffered) {
  start();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  sut.hang_up();
  EXPECT_TRUE(everything_is_given_back());
  EXPECT_EQ(device_.calls(Call::pin), 0U);
}

TEST_F(SessionRoomTest, SurvivesAHangUpWhilePreparing) {
  start();
  device_.pin_gate.close();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  sut.map();
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  sut.hang_up();
  EXPECT_EQ(daemon_->status().channel_count, 0U);
  device_.pin_gate.open();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, PinsNothingMoreForAProducerThatHungUpMeanwhile) {
  start();
  device_.pin_gate.close();
  RawClient sut = client();
  sut.send_request({16, 4096, 4096, 0});
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  sut.map();
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  sut.hang_up();
  ASSERT_TRUE(eventually([&] { return daemon_->status().channel_count == 0; }));
  device_.pin_gate.open();
  // Eight chunks there would have been.
  RawClient next = attached();
  EXPECT_TRUE(serves(next));
  next.hang_up();
  EXPECT_TRUE(everything_is_given_back());
  EXPECT_EQ(device_.calls(Call::pin), 1U + 2U);
}

TEST_F(SessionRoomTest, LetsOthersComeAndWorkWhileAnUnpinningHangs) {
  start();
  RawClient neighbour = attached();
  RawClient leaving = attached();
  device_.unpin_gate.close();
  leaving.hang_up();
  ASSERT_TRUE(device_.unpin_gate.await_visitor());
  // As behind a kernel that does not end: all of this happens while the call has not returned.
  EXPECT_TRUE(serves(neighbour));
  RawClient coming = attached();
  EXPECT_TRUE(serves(coming));
  RawClient leaving_too = attached();
  EXPECT_TRUE(serves(leaving_too));
  leaving_too.hang_up();
  EXPECT_TRUE(eventually([&] { return daemon_->status().channel_count == 2; }));
  EXPECT_TRUE(serves(neighbour, 2));
  EXPECT_EQ(device_.calls(Call::unpin), 0U);
  device_.unpin_gate.open();
  neighbour.hang_up();
  coming.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, UnpinsOnlyOnceTheJobsOfAProducerThatWentAreOver) {
  start();
  RawClient sut = attached();
  device_.hold_kernels(true);
  sut.submit(1, 0);
  ASSERT_TRUE(sut.await_issued(0));
  sut.hang_up();
  ASSERT_TRUE(eventually([&] { return daemon_->status().channel_count == 0; }));
  EXPECT_EQ(daemon_->status().pinned_bytes, channel_bytes(page_slots(kSlots)));
  EXPECT_EQ(device_.calls(Call::unpin), 0U);
  device_.hold_kernels(false);
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, GivesBackWhatItCouldNotOffer) {
  start();
  // A peer that reads nothing any more and still speaks: the answer cannot be sent.
  RawClient sut = client();
  ASSERT_EQ(::shutdown(sut.socket().get(), SHUT_RD), 0);
  sut.send_request(page_slots(kSlots));
  EXPECT_TRUE(everything_is_given_back());
  RawClient next = attached();
  EXPECT_TRUE(serves(next));
  next.hang_up();
  daemon_->ask_to_stop();
  EXPECT_EQ(daemon_->await_end(), RunOutcome::stopped);
}

TEST_F(SessionRoomTest, MakesRoomForTheNextWhenOneDetaches) {
  start(8, 1);
  for (int round = 0; round < 20; ++round) {
    RawClient first = attached();
    RawClient second = client();
    second.send_request(page_slots(kSlots));
    const AttachReply refused = second.receive_reply();
    EXPECT_EQ(refused.code, AttachCode::daemon_full);
    EXPECT_TRUE(says(read_text(refused.text), {"all 1 channels"}));
    first.hang_up();
    // No wait for anything: whoever comes after a detach finds its place free.
    RawClient third = attached();
    EXPECT_TRUE(serves(third));
  }
}

TEST_F(SessionRoomTest, WaitsForMemoryThatIsOnItsWayBack) {
  start(1, 10);
  RawClient first = attached();
  device_.unpin_gate.close();
  first.hang_up();
  ASSERT_TRUE(device_.unpin_gate.await_visitor());
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  EXPECT_EQ(daemon_->status().pinned_bytes, channel_bytes(page_slots(kSlots)));
  EXPECT_FALSE(sut.has_news());
  device_.unpin_gate.open();
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  sut.map();
  sut.await_ready();
  EXPECT_TRUE(serves(sut));
}

TEST_F(SessionRoomTest, WaitsForMemoryThatJobsStillUse) {
  start(1, 10);
  RawClient first = attached();
  device_.hold_kernels(true);
  first.submit(1, 0);
  ASSERT_TRUE(first.await_issued(0));
  first.hang_up();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  static_cast<void>(daemon_->status());
  EXPECT_FALSE(sut.has_news());
  device_.hold_kernels(false);
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
}

TEST_F(SessionRoomTest, WaitsForMemoryThatIsStillBeingPinnedForSomebodyWhoWent) {
  start(1, 10);
  device_.pin_gate.close();
  RawClient first = client();
  first.send_request(page_slots(kSlots));
  EXPECT_EQ(first.receive_reply().code, AttachCode::accepted);
  first.map();
  ASSERT_TRUE(device_.pin_gate.await_visitor());
  first.hang_up();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  static_cast<void>(daemon_->status());
  EXPECT_FALSE(sut.has_news());
  device_.pin_gate.open();
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
}

TEST_F(SessionRoomTest, WaitsForMemoryNoLongerThanTheTimeOfAnAttach) {
  settings_.attach_timeout = 100ms;
  start(1, 10);
  RawClient first = attached();
  device_.unpin_gate.close();
  first.hang_up();
  ASSERT_TRUE(device_.unpin_gate.await_visitor());
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  const AttachReply reply = sut.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::daemon_full);
  EXPECT_TRUE(says(read_text(reply.text), {"did not come back in time", "try again"}));
  device_.unpin_gate.open();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, ForgetsWhoWaitsForMemoryAndHangsUp) {
  start(1, 10);
  RawClient first = attached();
  device_.unpin_gate.close();
  first.hang_up();
  ASSERT_TRUE(device_.unpin_gate.await_visitor());
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  static_cast<void>(daemon_->status());
  sut.hang_up();
  device_.unpin_gate.open();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionRoomTest, RefusesWhatCannotBePinnedIfItMust) {
  settings_.store.require_pinned = true;
  device_.fail(Call::pin, 2, {DeviceOutcome::failed, 2});
  start();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  sut.map();
  const auto notice = sut.receive<RefusedNotice>(MessageType::refused);
  EXPECT_EQ(notice.code, AttachCode::pinning_failed);
  EXPECT_TRUE(says(read_text(notice.text), {"pinning", "scripted error 2", "ask for less"}));
  EXPECT_TRUE(sut.sees_the_end());
  EXPECT_TRUE(daemon_->books_are_empty());
  EXPECT_EQ(device_.pinned_range_count(), 0U);
  RawClient next = attached();
  EXPECT_TRUE(serves(next));
}

TEST_F(SessionRoomTest, ServesUnpinnedWithOneWarningIfItNeedNotBePinned) {
  device_.fail(Call::pin, 1, {DeviceOutcome::failed, 2});
  start();
  RawClient sut = attached();
  EXPECT_TRUE(serves(sut));
  EXPECT_TRUE(says(daemon_->log_text(), {"scripted error 2", "pageable"}));
  EXPECT_EQ(device_.pinned_range_count(), 0U);
}

}  // namespace
}  // namespace overlap
