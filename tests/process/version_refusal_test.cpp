// Clients of another version, another platform or none that speak to the real daemon.

#include "shared/channel_layout.hpp"
#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/raw_client.hpp"
#include "tests/unit/says.hpp"

#include <functional>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

struct VersionRefusal : ProcessTest {
  /// What the daemon answers to a request that was changed in one point.
  AttachReply ask(const std::function<void(AttachRequest&)>& change) const {
    AttachRequest request =
        make_attach_request({2, 4096, 4096, 0}, std::vector<std::string>{"copy"});
    change(request);
    RawClient client(socket_path());
    EXPECT_TRUE(client.send(request));
    const AttachReply reply = client.receive_reply();
    EXPECT_TRUE(client.sees_the_end());
    return reply;
  }
  static std::string text_of(const AttachReply& reply) {
    return std::string(read_text(reply.text));
  }

  DaemonProcess daemon = start_daemon();
  ProducerProcess other{socket_path(), 4, 5000};

  void SetUp() override {
    ASSERT_EQ(other.hear(), "attached");
    ASSERT_EQ(other.ask("stream next"), "streaming");
  }
  void TearDown() override {
    EXPECT_TRUE(daemon.serves(1, 20));
    EXPECT_TRUE(says(other.ask("stop"), {"streamed "}));
    EXPECT_EQ(other.ask("resumes"), "resumed 0");
    EXPECT_EQ(daemon.stop(), 0) << daemon.log();
  }
};

TEST_F(VersionRefusal, NamesBothMajors) {
  const AttachReply reply = ask([](AttachRequest& request) { request.abi_major = kAbiMajor + 1; });
  EXPECT_EQ(reply.code, AttachCode::version_mismatch);
  EXPECT_EQ(reply.abi_major, kAbiMajor);
  EXPECT_TRUE(
      says(text_of(reply),
           {"the daemon speaks channel ABI " + std::to_string(kAbiMajor) + ".",
            "the producer " + std::to_string(kAbiMajor + 1) + ".", "install matching versions"}));
}

TEST_F(VersionRefusal, NamesBothMinors) {
  const AttachReply reply = ask([](AttachRequest& request) {
    request.abi_minor_min = kAbiMinor + 1;
    request.abi_minor_max = kAbiMinor + 3;
  });
  EXPECT_EQ(reply.code, AttachCode::version_mismatch);
  EXPECT_EQ(reply.abi_minor, kAbiMinor);
  EXPECT_TRUE(says(text_of(reply),
                   {"the daemon speaks channel ABI", "the producer " + std::to_string(kAbiMajor) +
                                                         "." + std::to_string(kAbiMinor + 1) + "-" +
                                                         std::to_string(kAbiMinor + 3)}));
}

TEST_F(VersionRefusal, DoesNotMeetAMinorRangeThatReachesOurs) {
  AttachRequest request = make_attach_request({2, 4096, 4096, 0}, std::vector<std::string>{"copy"});
  request.abi_minor_max = kAbiMinor + 7;
  RawClient client(socket_path());
  client.send(request);
  const AttachReply reply = client.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::accepted);
  EXPECT_EQ(reply.abi_minor, kAbiMinor);
}

TEST_F(VersionRefusal, NamesBothPlatforms) {
  const AttachReply machine =
      ask([](AttachRequest& request) { write_text(request.architecture, "s390x"); });
  EXPECT_EQ(machine.code, AttachCode::platform_mismatch);
  EXPECT_TRUE(says(text_of(machine), {"the daemon runs on ", "the producer on s390x"}));
  const AttachReply libc = ask([](AttachRequest& request) { write_text(request.libc, "musl"); });
  EXPECT_TRUE(says(text_of(libc), {"the producer on ", "musl"}));
  const AttachReply semaphore = ask([](AttachRequest& request) { request.semaphore_bytes = 16; });
  EXPECT_TRUE(says(text_of(semaphore), {"sem_t of ", ", 16,"}));
  const AttachReply pages = ask([](AttachRequest& request) { request.page_bytes = 65536; });
  EXPECT_TRUE(says(text_of(pages), {"pages of ", ", 65536"}));
}

TEST_F(VersionRefusal, MeetsWhoRequiresWhatThereIsNot) {
  const AttachReply feature = ask([](AttachRequest& request) { request.features_required = 8; });
  EXPECT_EQ(feature.code, AttachCode::feature_missing);
  EXPECT_TRUE(says(text_of(feature), {"feature bits 8", "update the daemon"}));
}

TEST_F(VersionRefusal, MeetsWhoDoesNotSpeakTheProtocol) {
  const AttachReply magic = ask([](AttachRequest& request) { request.header.magic ^= 0x100; });
  EXPECT_EQ(magic.code, AttachCode::malformed_request);
  EXPECT_TRUE(says(text_of(magic), {"no attach request of this protocol"}));
  const AttachReply length = ask([](AttachRequest& request) { ++request.header.struct_bytes; });
  EXPECT_EQ(length.code, AttachCode::malformed_request);
  RawClient stranger(socket_path());
  const std::string greeting = "GET / HTTP/1.1\r\n\r\n";
  EXPECT_TRUE(stranger.send_bytes(std::as_bytes(std::span(greeting))));
  EXPECT_EQ(stranger.receive_reply().code, AttachCode::malformed_request);
}

}  // namespace
}  // namespace overlap::testing
