// Producers that are killed while they stream.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/raw_client.hpp"
#include "tests/unit/says.hpp"

#include <filesystem>
#include <string>

namespace overlap::testing {
namespace {

using ProducerDeath = ProcessTest;

TEST_F(ProducerDeath, LeavesTheOthersAndTheDaemonAsTheyWere) {
  DaemonProcess daemon(socket_path(), {});
  // Nobody was ever there: the base line.
  ASSERT_TRUE(daemon.logs(" serves ")) << daemon.log();
  const std::size_t descriptors_before = daemon.descriptor_count();
  ProducerProcess first(socket_path(), 4, 5000);
  ProducerProcess second(socket_path(), 2, 100000);
  ASSERT_EQ(first.hear(), "attached");
  ASSERT_EQ(second.hear(), "attached");
  ASSERT_EQ(first.ask("stream next"), "streaming");
  ASSERT_EQ(second.ask("stream any"), "streaming");
  for (int round = 0; round < rounds(10, 5); ++round) {
    SCOPED_TRACE(round);
    ProducerProcess victim(socket_path(), 3, 20000);
    ASSERT_EQ(victim.hear(), "attached");
    ASSERT_EQ(victim.ask("stream any"), "streaming");
    ASSERT_TRUE(daemon.serves(3, 7 * static_cast<std::uint64_t>(round)));
    victim.kill();
    ASSERT_TRUE(daemon.serves(2, 20));
  }
  for (ProducerProcess* other : {&first, &second}) {
    EXPECT_TRUE(says(other->ask("stop"), {"streamed "}));
    EXPECT_EQ(other->ask("resumes"), "resumed 0");
    EXPECT_EQ(other->leave(), 0);
  }
  const auto all_is_back = [&] {
    const StatusReply status = daemon.status();
    return status.channel_count == 0 && status.pinned_bytes == 0;
  };
  EXPECT_TRUE(daemon.await(all_is_back));
  EXPECT_TRUE(daemon.await([&] { return daemon.descriptor_count() == descriptors_before; }))
      << daemon.descriptor_count() << " descriptors, " << descriptors_before << " before";
  EXPECT_FALSE(daemon.has_mapped("memfd:overlap-channel"));
  const Finished status =
      run({.command = {program_path("overlapctl"), "--socket", socket_path(), "status"}});
  EXPECT_EQ(status.exit_code, 0) << status.errors;
  EXPECT_TRUE(says(status.output, {"\nchannels         0\n", "\nmemory           0"}));
  EXPECT_EQ(daemon.stop(), 0) << daemon.log();
}

TEST_F(ProducerDeath, IsFeltAtEveryStepOfAttaching) {
  DaemonProcess daemon = start_daemon();
  ProducerProcess other(socket_path(), 4, 5000);
  ASSERT_EQ(other.hear(), "attached");
  ASSERT_EQ(other.ask("stream next"), "streaming");
  const GeometryRequest geometry{2, 4096, 4096, 0};
  for (int step = 0; step < 5; ++step) {
    SCOPED_TRACE(step);
    RawClient client(socket_path());
    if (step > 0) {
      client.send_request(geometry);
    }
    if (step > 1) {
      ASSERT_EQ(client.receive_reply().code, AttachCode::accepted);
    }
    if (step > 2) {
      client.map();
    }
    if (step > 3) {
      client.await_ready();
      client.submit(1, 0);
    }
    client.hang_up();
    EXPECT_TRUE(daemon.serves(1, 10));
  }
  EXPECT_TRUE(says(other.ask("stop"), {"streamed "}));
  EXPECT_EQ(other.leave(), 0);
  EXPECT_TRUE(daemon.await([&] { return daemon.status().pinned_bytes == 0; }));
}

TEST_F(ProducerDeath, AndAttachingAnewNeverDisturbTheOthers) {
  DaemonProcess daemon = start_daemon();
  ProducerProcess other(socket_path(), 4, 5000);
  ASSERT_EQ(other.hear(), "attached");
  ASSERT_EQ(other.ask("stream next"), "streaming");
  for (int round = 0; round < rounds(100, 30); ++round) {
    RawClient client(socket_path());
    client.attach({2, 4096, 4096, 0});
    client.submit(static_cast<std::uint64_t>(round) + 1, 1);
    const auto completion = client.collect();
    ASSERT_TRUE(completion);
    EXPECT_EQ(completion->job_id, static_cast<std::uint64_t>(round) + 1);
    EXPECT_TRUE(client.output_is_copy(static_cast<std::uint64_t>(round) + 1, 1));
  }
  EXPECT_TRUE(says(other.ask("stop"), {"streamed "}));
  EXPECT_EQ(other.ask("resumes"), "resumed 0");
}

TEST_F(ProducerDeath, FindsNothingOfItsMemoryUnderAName) {
  DaemonProcess daemon = start_daemon();
  ProducerProcess producer(socket_path(), 4, 5000);
  ASSERT_EQ(producer.hear(), "attached");
  ASSERT_EQ(producer.ask("submit 3"), "submitted");
  EXPECT_TRUE(daemon.has_mapped("memfd:overlap-channel"));
  EXPECT_FALSE(daemon.has_mapped("/dev/shm"));
  EXPECT_EQ(socket_folder(), (std::vector<std::string>{"overlapd.sock", "overlapd.sock.lock"}));
}

}  // namespace
}  // namespace overlap::testing
