// Stopping the daemon on purpose, with and without work in flight.

#include "tests/process/process_test.hpp"
#include "tests/process/producer_process.hpp"
#include "tests/unit/raw_client.hpp"
#include "tests/unit/says.hpp"

#include <algorithm>
#include <csignal>
#include <cstddef>
#include <optional>
#include <string>

namespace overlap::testing {
namespace {

struct DaemonStop : ProcessTest {
  /// Whether the daemon left as it should: the folder clean and the last word said.
  [[nodiscard]] ::testing::AssertionResult is_tidy(const DaemonProcess& daemon) const {
    const std::string log = daemon.log();
    if (!log.ends_with(" info stopped\n")) {
      return ::testing::AssertionFailure() << "the last line is no 'stopped': " << log;
    }
    if (!socket_folder().empty()) {
      return ::testing::AssertionFailure() << socket_folder().front() << " was left";
    }
    return ::testing::AssertionSuccess();
  }
};

/// 256 KiB of numbers added often enough that nobody can miss the job on the device.
constexpr std::uint32_t kLongJobPasses = kSanitized ? 1000 : 100000;
const std::string kLongPipeline = "vector_add:repeat=" + std::to_string(kLongJobPasses);
constexpr GeometryRequest kLongGeometry{8, 262144, 131072, 0};

TEST_F(DaemonStop, WithNothingToDoIsClean) {
  for (const int number : {SIGTERM, SIGINT}) {
    DaemonProcess sut = start_daemon();
    sut.send_signal(number);
    EXPECT_EQ(sut.exit_code(), 0) << sut.log();
    EXPECT_TRUE(is_tidy(sut));
  }
}

TEST_F(DaemonStop, DeliversTheJobsAtHandFirst) {
  DaemonProcess sut = start_daemon({"--batch-max-jobs", "1"});
  RawClient client(socket_path());
  client.attach(kLongGeometry, kLongPipeline);
  client.submit(1, 0);
  ASSERT_TRUE(client.await_issued(0));
  sut.send_signal(SIGTERM);
  const auto completion = client.collect();
  ASSERT_TRUE(completion);
  EXPECT_EQ(completion->job_id, 1U);
  EXPECT_EQ(completion->status, static_cast<std::uint16_t>(JobStatus::ok));
  const auto closing = client.receive<ClosingNotice>(MessageType::closing);
  EXPECT_EQ(closing.reason, CloseReason::drain);
  EXPECT_TRUE(client.sees_the_end());
  EXPECT_EQ(sut.exit_code(), 0) << sut.log();
  EXPECT_TRUE(is_tidy(sut));
  EXPECT_FALSE(sut.has_logged("did not finish")) << sut.log();
}

TEST_F(DaemonStop, UnderLoadIsOnlyAPauseForTheProducers) {
  constexpr int kStops = 2;
  std::optional<DaemonProcess> sut(start_daemon());
  ProducerProcess in_order(socket_path(), 5, 6000);
  ProducerProcess in_any_order(socket_path(), 3, 50000);
  ProducerProcess with_one_slot(socket_path(), 1, 900);
  for (ProducerProcess* producer : {&in_order, &in_any_order, &with_one_slot}) {
    ASSERT_EQ(producer->hear(), "attached");
  }
  ASSERT_EQ(in_order.ask("stream next"), "streaming");
  ASSERT_EQ(in_any_order.ask("stream any"), "streaming");
  ASSERT_EQ(with_one_slot.ask("stream next"), "streaming");
  for (int stop = 0; stop < kStops; ++stop) {
    ASSERT_TRUE(sut->serves(3, 50));
    EXPECT_EQ(sut->stop(), 0) << sut->log();
    EXPECT_TRUE(is_tidy(*sut));
    EXPECT_FALSE(sut->has_logged("did not finish")) << sut->log();
    sut.reset();
    sut.emplace(start_daemon());
    for (ProducerProcess* producer : {&in_order, &in_any_order, &with_one_slot}) {
      ASSERT_EQ(producer->hear(), "resumed " + std::to_string(stop + 1));
    }
  }
  for (ProducerProcess* producer : {&in_order, &in_any_order, &with_one_slot}) {
    EXPECT_TRUE(says(producer->ask("stop"), {"streamed "}));
    EXPECT_EQ(producer->leave(), 0);
  }
}

TEST_F(DaemonStop, EndsWithinTheDrainTimeOutHoweverMuchIsQueued) {
  DaemonProcess sut = start_daemon({"--batch-max-jobs", "1", "--drain-timeout", "0ms"});
  RawClient client(socket_path());
  client.attach(kLongGeometry, kLongPipeline);
  for (std::uint32_t slot = 0; slot < kLongGeometry.slot_count; ++slot) {
    client.submit(slot + 1, slot);
  }
  ASSERT_TRUE(client.await_issued(0));
  EXPECT_EQ(sut.stop(), 0) << sut.log();
  EXPECT_TRUE(is_tidy(sut));
  EXPECT_TRUE(says(sut.log(), {"did not finish within the drain time-out"}));
  const auto last_output = client.view().output(kLongGeometry.slot_count - 1);
  EXPECT_TRUE(std::all_of(last_output.begin(), last_output.end(), [](std::byte b) {
    return b == std::byte{0};
  })) << "a job was begun after the time-out";
}

TEST_F(DaemonStop, ASecondSignalWaitsForNoJobAnyLonger) {
  DaemonProcess sut = start_daemon({"--batch-max-jobs", "1", "--drain-timeout", "3600s"});
  RawClient client(socket_path());
  client.attach(kLongGeometry, kLongPipeline);
  for (std::uint32_t slot = 0; slot < kLongGeometry.slot_count; ++slot) {
    client.submit(slot + 1, slot);
  }
  ASSERT_TRUE(client.await_issued(0));
  sut.send_signal(SIGTERM);
  // Two that are pending at once are one.
  ASSERT_TRUE(sut.logs("finishing the jobs at hand"));
  sut.send_signal(SIGTERM);
  EXPECT_EQ(sut.exit_code(), 0) << sut.log();
  EXPECT_TRUE(says(sut.log(), {"asked to stop again"}));
  EXPECT_TRUE(is_tidy(sut));
}

TEST_F(DaemonStop, WhileProducersAttachLeavesNobodyWaiting) {
  const GeometryRequest geometry{2, 4096, 4096, 0};
  for (int step = 0; step < 4; ++step) {
    SCOPED_TRACE(step);
    DaemonProcess sut = start_daemon();
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
    EXPECT_EQ(sut.stop(), 0) << sut.log();
    EXPECT_TRUE(is_tidy(sut));
    while (!client.sees_the_end()) {
    }
  }
}

TEST_F(DaemonStop, DuringItsStartIsCleanToo) {
  // The signal comes at whatever stage it has reached: early ones end it as any program.
  for (int round = 0; round < rounds(20, 5); ++round) {
    DaemonProcess sut(socket_path());
    if (round % 2 == 0) {
      ASSERT_TRUE(sut.await([&] { return !socket_folder().empty(); }));
    }
    sut.send_signal(round % 4 < 2 ? SIGTERM : SIGINT);
    const auto code = sut.exit_code();
    if (round % 2 == 0) {
      EXPECT_EQ(code, 0) << sut.log();
      EXPECT_TRUE(is_tidy(sut));
    } else {
      EXPECT_TRUE(code == 0 || code == 128 + SIGTERM || code == 128 + SIGINT) << code.value_or(-1);
      EXPECT_TRUE(socket_folder().empty());
    }
  }
}

}  // namespace
}  // namespace overlap::testing
