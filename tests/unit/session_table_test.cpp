#include "daemon/control/session_table.hpp"

#include "tests/unit/says.hpp"
#include "tests/unit/session_table_fixture.hpp"

#include <gtest/gtest.h>

#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

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

using SessionTableTest = testing::SessionTableFixture;

TEST_F(SessionTableTest, AttachesInTheOrderOfTheProtocol) {
  start();
  RawClient sut = client();
  sut.send_request({4, 10000, 0, 100}, "copy");
  const AttachReply reply = sut.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::accepted);
  EXPECT_EQ(read_text(reply.text), "");
  EXPECT_EQ(reply.output_bytes, 10000U);
  EXPECT_EQ(reply.max_slot_count, settings_.limits.geometry.max_slot_count);
  EXPECT_EQ(reply.max_slot_bytes, settings_.limits.geometry.max_slot_bytes);
  EXPECT_EQ(reply.max_channel_bytes, settings_.limits.geometry.max_channel_bytes);
  EXPECT_EQ(read_text(reply.backend), "virtual");
  EXPECT_EQ(device_.calls(Call::pin), 0U);
  EXPECT_FALSE(sut.has_news());
  sut.map();
  sut.await_ready();
  EXPECT_GT(device_.pinned_range_count(), 0U);
  EXPECT_TRUE(serves(sut));
}

TEST_F(SessionTableTest, DropsWhoConnectsAndSaysNothing) {
  settings_.attach_timeout = 50ms;
  start();
  RawClient sut = client();
  const AttachReply reply = sut.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::timed_out);
  EXPECT_TRUE(says(read_text(reply.text), {"did not speak in time", "try again"}));
  EXPECT_TRUE(sut.sees_the_end());
  EXPECT_EQ(device_.calls(Call::pin), 0U);
}

TEST_F(SessionTableTest, DropsWhoOnlyEverAsksForTheStatus) {
  settings_.attach_timeout = 50ms;
  start();
  RawClient sut = client();
  const auto question = make_message<StatusRequest>(MessageType::status_request);
  // Far more questions than fit into the time, each with its answer, until the end comes: a refusal,
  // or, where a question crosses it, a connection that is closed.
  const auto deadline = std::chrono::steady_clock::now() + testing::kPatience;
  bool dropped = false;
  while (!dropped && std::chrono::steady_clock::now() < deadline) {
    if (!sut.send(question)) {
      dropped = true;
      break;
    }
    const Packet packet = sut.receive();
    const auto reply = read_message<AttachReply>(packet.bytes, MessageType::attach_reply);
    dropped = packet.outcome == Packet::Outcome::closed ||
              (reply && reply->code == AttachCode::timed_out);
  }
  EXPECT_TRUE(dropped);
}

TEST_F(SessionTableTest, PinsNothingForWhoNeverMapsTheMemory) {
  settings_.attach_timeout = 50ms;
  start();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  const auto notice = sut.receive<RefusedNotice>(MessageType::refused);
  EXPECT_EQ(notice.code, AttachCode::timed_out);
  EXPECT_TRUE(sut.sees_the_end());
  EXPECT_TRUE(daemon_->books_are_empty());
  EXPECT_EQ(device_.calls(Call::pin), 0U);
}

TEST_F(SessionTableTest, KeepsAnOpenChannelHoweverLongItIsQuiet) {
  settings_.attach_timeout = 20ms;
  start();
  RawClient sut = attached();
  // Two others run into the limit meanwhile.
  for (int i = 0; i < 2; ++i) {
    RawClient other = client();
    EXPECT_EQ(other.receive_reply().code, AttachCode::timed_out);
  }
  EXPECT_TRUE(serves(sut));
}

TEST_F(SessionTableTest, RefusesAFirstMessageThatIsNone) {
  start();
  RawClient neighbour = attached();
  auto lying = make_message<MappedNotice>(MessageType::attach_request);
  lying.header.struct_bytes = sizeof(AttachRequest);
  auto foreign = make_message<MappedNotice>(MessageType::attach_request);
  foreign.header.magic = 0;
  const auto early = make_message<MappedNotice>(MessageType::mapped);
  const auto reply = make_message<AttachReply>(MessageType::attach_reply);
  const auto unknown = make_message<MappedNotice>(static_cast<MessageType>(99));
  const std::vector<std::byte> noise(kMaxMessageBytes, std::byte{0xa5});
  for (const std::span<const std::byte> packet :
       {message_bytes(lying), message_bytes(foreign), message_bytes(early), message_bytes(reply),
        message_bytes(unknown), std::span(noise), std::span(noise).first(1),
        std::span(noise).first(15), message_bytes(early).first(8)}) {
    RawClient sut = client();
    ASSERT_TRUE(sut.send_bytes(packet));
    const AttachReply refused = sut.receive_reply();
    EXPECT_EQ(refused.code, AttachCode::malformed_request) << packet.size();
    EXPECT_TRUE(says(read_text(refused.text), {"no attach request"}));
    EXPECT_TRUE(sut.sees_the_end());
  }
  EXPECT_TRUE(serves(neighbour));
}

TEST_F(SessionTableTest, HangsUpOnAPacketLongerThanAnyMessage) {
  start();
  RawClient sut = client();
  const std::vector<std::byte> noise(kMaxMessageBytes + 1, std::byte{0xa5});
  ASSERT_TRUE(sut.send_bytes(noise));
  EXPECT_TRUE(sut.sees_the_end());
}

TEST_F(SessionTableTest, TakesAPacketWithoutBytesForTheEnd) {
  start();
  RawClient connected = client();
  RawClient open = attached();
  for (RawClient* sut : {&connected, &open}) {
    ASSERT_EQ(::send(sut->socket().get(), "", 0, MSG_NOSIGNAL), 0);
    EXPECT_TRUE(sut->sees_the_end());
  }
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionTableTest, RefusesARequestThatIsCutShort) {
  start();
  const AttachRequest whole = make_attach_request(page_slots(2), std::vector<std::string>{"copy"});
  for (const std::size_t bytes :
       {sizeof(MessageHeader), sizeof(MessageHeader) + 4, std::size_t{84}, std::size_t{128}}) {
    std::vector<std::byte> packet(bytes);
    std::memcpy(packet.data(), &whole, bytes);
    const auto length = static_cast<std::uint32_t>(bytes);
    std::memcpy(packet.data() + offsetof(MessageHeader, struct_bytes), &length, sizeof length);
    RawClient sut = client();
    ASSERT_TRUE(sut.send_bytes(packet));
    EXPECT_NE(sut.receive_reply().code, AttachCode::accepted) << bytes;
    EXPECT_TRUE(sut.sees_the_end());
  }
}

TEST_F(SessionTableTest, TakesARequestOfTheTimeBeforePriorities) {
  start();
  AttachRequest whole = make_attach_request(page_slots(kSlots), std::vector<std::string>{"copy"});
  whole.header.struct_bytes = offsetof(AttachRequest, priority);
  RawClient sut = client();
  ASSERT_TRUE(sut.send_bytes(message_bytes(whole).first(whole.header.struct_bytes)));
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  sut.map();
  sut.await_ready();
  EXPECT_TRUE(serves(sut));
}

TEST_F(SessionTableTest, ClosesAnOpenChannelThatAsksToAttachAgain) {
  start();
  RawClient sut = attached();
  sut.send_request(page_slots(kSlots));
  const auto notice = sut.receive<ClosingNotice>(MessageType::closing);
  EXPECT_EQ(notice.reason, CloseReason::violation);
  EXPECT_TRUE(says(read_text(notice.text), {"does not belong here"}));
  EXPECT_TRUE(sut.sees_the_end());
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionTableTest, ClosesWhoSaysTwiceThatItMapped) {
  start();
  RawClient sut = attached();
  ASSERT_TRUE(sut.send(make_message<MappedNotice>(MessageType::mapped)));
  EXPECT_EQ(sut.receive<ClosingNotice>(MessageType::closing).reason, CloseReason::violation);
}

TEST_F(SessionTableTest, TellsTheProducerWhichRuleOfTheRingsItBroke) {
  start();
  RawClient neighbour = attached();
  RawClient sut = attached();
  sut.view().producer_words().completion_head.store(5);
  sut.submit(1, 0);
  const auto notice = sut.receive<ClosingNotice>(MessageType::closing);
  EXPECT_EQ(notice.reason, CloseReason::violation);
  EXPECT_FALSE(read_text(notice.text).empty());
  EXPECT_TRUE(sut.sees_the_end());
  EXPECT_TRUE(serves(neighbour));
  neighbour.hang_up();
  EXPECT_TRUE(everything_is_given_back());
}

TEST_F(SessionTableTest, TakesNoDescriptors) {
  start();
  RawClient sut = client();
  static_cast<void>(sut.ask_status());
  const std::size_t before = testing::open_descriptor_count();
  const auto message = make_message<StatusRequest>(MessageType::status_request);
  for (int i = 0; i < 10; ++i) {
    const std::vector<int> descriptors{0, 1, 2, sut.socket().get()};
    ASSERT_TRUE(send_packet(sut.socket(), message_bytes(message), descriptors));
    static_cast<void>(sut.receive<StatusReply>(MessageType::status_reply));
  }
  EXPECT_EQ(testing::open_descriptor_count(), before);
}

TEST_F(SessionTableTest, AnswersStatusRequestsInEveryState) {
  start();
  RawClient sut = client();
  EXPECT_EQ(sut.ask_status().channel_count, 0U);
  sut.send_request(page_slots(kSlots));
  EXPECT_EQ(sut.receive_reply().code, AttachCode::accepted);
  const StatusReply offered = sut.ask_status();
  EXPECT_EQ(offered.channel_count, 1U);
  EXPECT_EQ(offered.pinned_bytes, channel_bytes(page_slots(kSlots)));
  sut.map();
  sut.await_ready();
  EXPECT_TRUE(serves(sut));
  EXPECT_TRUE(eventually([&] { return sut.ask_status().jobs_done == 1; }));
}

TEST_F(SessionTableTest, KeepsOutWhoIsNotNamed) {
  settings_.limits.allowed_users = {::geteuid() + 1};
  start();
  RawClient sut = client();
  sut.send_request(page_slots(kSlots));
  const AttachReply reply = sut.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::not_permitted);
  EXPECT_TRUE(says(read_text(reply.text), {"uid " + std::to_string(::geteuid())}));
}

TEST_F(SessionTableTest, TellsNoAddressesNorAnyoneElsesNames) {
  settings_.store.require_pinned = true;
  device_.fail(Call::pin, 4, {DeviceOutcome::failed, 2});
  start(2, 10);
  RawClient neighbour = client();
  neighbour.attach(page_slots(1), "scale:a=31.4159");
  std::string replies;
  for (const auto& [geometry, pipeline] :
       {std::pair(GeometryRequest{0, 1, 1, 0}, "copy"), std::pair(page_slots(1000), "copy"),
        std::pair(GeometryRequest{1, UINT64_MAX, 1, 0}, "copy"),
        std::pair(page_slots(1), "/dev/shm"), std::pair(page_slots(1), "copy:x=1"),
        std::pair(page_slots(1), "transpose:rows=512,cols=512")}) {
    RawClient sut = client();
    sut.send_request(geometry, pipeline);
    const AttachReply reply = sut.receive_reply();
    EXPECT_NE(reply.code, AttachCode::accepted);
    replies += read_text(reply.text);
    replies += '\n';
  }
  RawClient unpinned = client();
  unpinned.send_request(page_slots(1));
  EXPECT_EQ(unpinned.receive_reply().code, AttachCode::accepted);
  unpinned.map();
  replies += read_text(unpinned.receive<RefusedNotice>(MessageType::refused).text);
  RawClient violating = attached();
  violating.view().producer_words().submission_tail.store(UINT32_MAX);
  violating.send(make_message<MappedNotice>(MessageType::mapped));
  replies += read_text(violating.receive<ClosingNotice>(MessageType::closing).text);
  for (const std::string& text : {replies, daemon_->log_text()}) {
    for (const char* secret : {"0x", "memfd", "overlap-channel", "/proc", "/tmp"}) {
      EXPECT_EQ(text.find(secret), std::string::npos) << secret << " in\n" << text;
    }
  }
  EXPECT_EQ(replies.find("31.4159"), std::string::npos);
}

}  // namespace
}  // namespace overlap
