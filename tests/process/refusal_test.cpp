// Bad input: every refusal says what, why and what to do, and nobody else notices.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/raw_client.hpp"
#include "tests/unit/says.hpp"

#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace overlap::testing {
namespace {

struct Refusal : ProcessTest {
  /// Whether `overlap-send` ends with this code and says all of this, and nothing that is nobody's
  /// business.
  void expect(int exit_code, const std::vector<std::string>& arguments,
              std::initializer_list<std::string_view> parts) const {
    SCOPED_TRACE(::testing::PrintToString(arguments));
    const Finished sut = send(arguments);
    EXPECT_EQ(sut.exit_code, exit_code) << sut.errors;
    EXPECT_TRUE(says(sut.errors, parts));
    for (const char* const secret : {"memfd", "/dev/shm", "0x7f", "pid "}) {
      EXPECT_EQ(sut.errors.find(secret), std::string::npos) << sut.errors;
    }
  }
  /// What the daemon itself says to a request that no program of ours would send.
  [[nodiscard]] std::string answer_to(const GeometryRequest& geometry,
                                      const std::string& pipeline = "copy") const {
    RawClient client(socket_path());
    client.send_request(geometry, pipeline);
    const AttachReply reply = client.receive_reply();
    EXPECT_NE(reply.code, AttachCode::accepted);
    EXPECT_TRUE(client.sees_the_end());
    return std::string(attach_code_text(reply.code)) + ": " + std::string(read_text(reply.text));
  }
};

/// With a producer that must not notice.
struct RefusalBesideOthers : Refusal {
  DaemonProcess daemon = start_daemon({"--max-slot-bytes", "64MiB"});
  ProducerProcess other{socket_path(), 3, 5000};

  void SetUp() override {
    ASSERT_EQ(other.hear(), "attached");
    ASSERT_EQ(other.ask("stream next"), "streaming");
  }
  void TearDown() override {
    EXPECT_TRUE(daemon.serves(1, 20));
    EXPECT_TRUE(says(other.ask("stop"), {"streamed "}));
    EXPECT_EQ(other.ask("resumes"), "resumed 0");
    EXPECT_EQ(daemon.status().jobs_failed, 0U);
  }
};

TEST_F(RefusalBesideOthers, MeetsSlotsOfASizeThatCannotBe) {
  expect(2, {"--kernel", "copy", "--slot-bytes", "0"}, {"--slot-bytes", "'0'", "at least 1"});
  expect(3, {"--kernel", "copy", "--slot-bytes", "65MiB"},
         {"geometry refused", "input bytes is 65MiB, the limit is 64MiB", "ask for less"});
  expect(2, {"--kernel", "copy", "--slot-bytes", "-1"}, {"--slot-bytes", "-1"});
  expect(2, {"--kernel", "copy", "--slot-bytes", "16777216TiB"}, {"--slot-bytes", "16777216TiB"});
  EXPECT_TRUE(says(answer_to({2, 0, 4096, 0}), {"geometry refused: input bytes is 0", "at least"}));
  EXPECT_TRUE(says(answer_to({2, UINT64_MAX, 4096, 0}), {"input bytes", "the limit is 64MiB"}));
  EXPECT_TRUE(says(answer_to({2, 4096, UINT64_MAX, 0}), {"output bytes", "the limit is 64MiB"}));
  EXPECT_TRUE(says(answer_to({2, 4096, 4096, UINT64_MAX}), {"table bytes", "the limit is"}));
  EXPECT_TRUE(says(answer_to({2, 4096, 4095, 0}), {"geometry refused", "the output area is 4095"}));
}

TEST_F(RefusalBesideOthers, MeetsCountsThatOverflow) {
  expect(2, {"--kernel", "copy", "--slots", "0"}, {"--slots", "'0'", "from 1 to"});
  expect(2, {"--kernel", "copy", "--slots", "4294967297"},
         {"--slots", "'4294967297'", "from 1 to"});
  expect(3, {"--kernel", "copy", "--slots", "65537", "--slot-bytes", "1"},
         {"slots is 65537, the limit is 65536", "ask for less"});
  expect(3, {"--kernel", "copy", "--slots", "65536", "--slot-bytes", "64MiB"},
         {"channel bytes", "the limit is 4GiB", "less"});
  expect(2, {"--kernel", "copy", "--count", "18446744073709551615"}, {"--count", "2^64"});
  expect(2, {"--kernel", "copy", "--count", "18446744073709551616"},
         {"--count", "'18446744073709551616'", "whole number"});
  EXPECT_TRUE(
      says(answer_to({UINT32_MAX, 4096, 4096, 0}), {"slots is 4294967295", "the limit is"}));
  EXPECT_TRUE(says(answer_to({0, 4096, 4096, 0}), {"slots is 0", "at least one slot"}));
}

TEST_F(RefusalBesideOthers, MeetsKernelsAndParametersThatAreNotThere) {
  // It may be a plug-in's, so that the daemon is asked.
  expect(3, {"--kernel", "blur"}, {"'blur'", "copy", "scale", "transpose", "vector_add"});
  expect(2, {"--kernel", "blur", "--verify"}, {"--verify", "'blur'", "no reference"});
  expect(2, {"--kernel", "scale:c=1"}, {"'c'", "a", "b", "type"});
  expect(2, {"--kernel", "copy|"}, {"stage 2"});
  expect(2, {"--kernel", "scale:a=1,a=2"}, {"'a'", "twice"});
  expect(2, {}, {"--kernel is missing"});
  EXPECT_TRUE(says(answer_to({2, 4096, 4096, 0}, "blur"), {"pipeline refused", "'blur'", "copy"}));
  EXPECT_TRUE(says(answer_to({2, 4096, 4096, 0}, "scale:c=1"), {"pipeline refused", "'c'"}));
  EXPECT_TRUE(says(answer_to({2, 4096, 4096, 0}, ""), {"pipeline refused"}));
}

TEST_F(RefusalBesideOthers, MeetsParametersOutOfRange) {
  expect(2, {"--kernel", "vector_add:repeat=0"}, {"repeat", "'0'", "from 1 to 100000"});
  expect(2, {"--kernel", "vector_add:repeat=100001"}, {"repeat", "'100001'", "from 1 to 100000"});
  expect(2, {"--kernel", "scale:a=nan"}, {"'nan'", "finite"});
  expect(2, {"--kernel", "scale:type=f16"}, {"'f16'", "f32"});
  expect(2, {"--kernel", "transpose:rows=0"}, {"rows", "'0'", "from 1 to"});
  EXPECT_TRUE(says(answer_to({2, 4096, 4096, 0}, "vector_add:repeat=0"),
                   {"pipeline refused", "repeat", "from 1 to 100000"}));
}

TEST_F(RefusalBesideOthers, MeetsInputsShorterThanTheKernelNeeds) {
  const std::string file = make_file("input", 100);
  expect(2, {"--kernel", "transpose:rows=64,cols=64", "--input", file},
         {file, "100 bytes are surplus", "16384", "nothing was sent"});
  expect(2, {"--kernel", "vector_add", "--slot-bytes", "7"},
         {"7", "vector_add", "8", "raise --slot-bytes"});
  expect(2, {"--kernel", "transpose:rows=64,cols=64", "--slot-bytes", "16383"},
         {"16383", "transpose", "raise --slot-bytes"});
  EXPECT_TRUE(says(answer_to({2, 7, 4096, 0}, "vector_add"),
                   {"pipeline refused", "shorter than", "8", "ask for larger slots"}));
}

TEST_F(RefusalBesideOthers, MeetsFilesThatCannotBeReadOrWritten) {
  expect(4, {"--kernel", "copy", "--input", path("nothing")}, {path("nothing"), "No such file"});
  expect(4, {"--kernel", "copy", "--output", path("nowhere/output")}, {path("nowhere/output")});
  const std::string file = make_file("input", 100);
  expect(2, {"--kernel", "copy", "--input", file, "--output", file}, {"--output", "--input"});
  EXPECT_TRUE(read_file(file) == some_bytes(100)) << "the input is as it was";
}

TEST_F(Refusal, MeetsWhoFindsTheDaemonFull) {
  DaemonProcess daemon = start_daemon({"--max-channels", "1"});
  ProducerProcess only(socket_path(), 3, 5000);
  ASSERT_EQ(only.hear(), "attached");
  expect(3, {"--kernel", "copy"},
         {"daemon full", "all 1 channels are in use", "detach a producer or raise max-channels"});
  EXPECT_EQ(daemon.status().channel_count, 1U);
  EXPECT_EQ(only.ask("submit 3"), "submitted");
  EXPECT_EQ(only.ask("take 3"), "took 3");
  EXPECT_EQ(only.leave(), 0);
  ASSERT_TRUE(daemon.await([&] { return daemon.status().channel_count == 0; }));
  const Finished next = send({"--kernel", "copy"});
  EXPECT_EQ(next.exit_code, 0) << next.errors;
}

TEST_F(Refusal, MeetsWhoWantsMoreMemoryThanIsLeft) {
  DaemonProcess daemon = start_daemon({"--max-pinned-bytes", "4MiB"});
  ProducerProcess other(socket_path(), 2, 524288);
  ASSERT_EQ(other.hear(), "attached");
  expect(3, {"--kernel", "copy", "--slots", "2", "--slot-bytes", "512KiB"},
         {"daemon full", "of 4MiB", "ask for less or raise max-pinned-bytes"});
  EXPECT_EQ(other.ask("submit 2"), "submitted");
  EXPECT_EQ(other.ask("take 2"), "took 2");
  const Finished smaller = send({"--kernel", "copy", "--slots", "2", "--slot-bytes", "64KiB"});
  EXPECT_EQ(smaller.exit_code, 0) << smaller.errors;
}

TEST_F(Refusal, MeetsTheOneChannelTooManyOfAUser) {
  DaemonProcess daemon = start_daemon({"--max-channels-per-uid", "1"});
  ProducerProcess only(socket_path(), 2, 4096);
  ASSERT_EQ(only.hear(), "attached");
  expect(3, {"--kernel", "copy"}, {"daemon full", "already has 1", "max-channels-per-uid"});
  EXPECT_EQ(only.leave(), 0);
}

TEST_F(Refusal, MeetsWhoIsNotPermitted) {
  DaemonProcess daemon = start_daemon({"--allow-users", "54321"});
  expect(3, {"--kernel", "copy"}, {"not permitted", "uid ", "ask the administrator"});
  EXPECT_EQ(daemon.status().channel_count, 0U);
}

}  // namespace
}  // namespace overlap::testing
