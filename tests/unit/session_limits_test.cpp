#include "daemon/control/session_table.hpp"

#include "daemon/control/control_mailbox.hpp"
#include "shared/monotonic_clock.hpp"
#include "tests/unit/control_fixture.hpp"
#include "tests/unit/says.hpp"
#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Call = VirtualTimeDevice::Call;
using testing::channel_bytes;
using testing::page_slots;
using testing::RawClient;
using testing::says;

/// A table with real workers, whose control thread is the test: it sets the engine's load, and says
/// whose connections come.
class SessionLimitsTest : public ::testing::Test, private EngineListener {
 protected:
  SessionLimitsTest() { EXPECT_FALSE(poll_.add(mailbox_.descriptor(), EventSource::mailbox)); }

  [[nodiscard]] static PeerIdentity of_user(uid_t uid) {
    PeerIdentity peer;
    peer.uid = uid;
    return peer;
  }
  /// A connection of a user.
  [[nodiscard]] RawClient client(uid_t uid) {
    int ends[2] = {-1, -1};
    EXPECT_EQ(::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, ends), 0);
    sut_.open(FileDescriptor(ends[0]), of_user(uid), monotonic_now_ns());
    return RawClient(FileDescriptor(ends[1]));
  }
  /// Does the control thread's work until something holds.
  template <class Condition>
  [[nodiscard]] bool serve_until(Condition holds) {
    const auto end = std::chrono::steady_clock::now() + testing::kPatience;
    while (!holds()) {
      if (std::chrono::steady_clock::now() > end) {
        return false;
      }
      std::array<PolledEvent, 16> storage;
      for (const PolledEvent& event : poll_.wait(storage, 1)) {
        if (event.source == EventSource::socket) {
          static_cast<void>(sut_.on_readable(event.key, monotonic_now_ns()));
        }
      }
      read_mail();
      sut_.forget_gone(monotonic_now_ns());
    }
    return true;
  }
  void attach(RawClient& client) {
    client.send_request(page_slots(2));
    ASSERT_TRUE(serve_until([&] { return client.has_news(); }));
    ASSERT_EQ(client.receive_reply().code, AttachCode::accepted);
    client.map();
    ASSERT_TRUE(serve_until([&] { return client.has_news(); }));
    client.await_ready();
  }

  testing::SharedDevice device_;
  ControlSettings settings_ = tight_settings();
  testing::KeptLog log_;
  EngineLoad load_;
  EventPoll poll_;
  ControlMailbox mailbox_;
  PinWorker pin_worker_{device_, settings_.store, load_,
                        [this](PinReport report) { mailbox_.post(std::move(report)); }};
  Reclaimer reclaimer_{device_, settings_.store, load_,
                       [this](StoreGivenBack report) { mailbox_.post(PinReport(report)); }};
  SessionTable sut_{{poll_, device_, testing::scripted_registry(), pin_worker_, reclaimer_, engine_,
                     log_.logger()},
                    settings_.limits,
                    testing::kPatience};
  // The engine stops before the sessions unmap what it looks at.
  EngineThread engine_{device_, settings_.engine, settings_.idle, *this};

 private:
  /// Memory for one channel of two slots, and reclaiming that is never due by itself.
  static ControlSettings tight_settings() {
    ControlSettings settings = testing::roomy_settings();
    settings.limits.max_channels = 8;
    settings.limits.max_channels_per_uid = 2;
    settings.limits.max_pinned_bytes = channel_bytes(page_slots(2));
    settings.store.reclaim_after = 24h;
    return settings;
  }
  void read_mail() {
    for (ControlMail& mail : mailbox_.take()) {
      if (const auto* removed = std::get_if<ChannelRemoved>(&mail)) {
        sut_.on_removed(removed->channel);
      } else if (auto* report = std::get_if<PinReport>(&mail)) {
        sut_.on_report(std::move(*report), monotonic_now_ns());
      }
    }
  }
  void on_violation(ChannelId /*channel*/, const std::string& /*why*/) override {}
  void on_parked(ChannelId /*channel*/, int /*doorbell*/) override {}
  void on_unparked(ChannelId /*channel*/, int /*doorbell*/) override {}
  void on_tables_copied(ChannelId /*channel*/) override {}
  void on_removed(ChannelId channel) override { mailbox_.post(ChannelRemoved{channel}); }
  void on_drained() override {}
  void on_device_lost(int /*code*/) override {}
};

TEST_F(SessionLimitsTest, LetsMemoryWaitForAMomentWithoutLongBatches) {
  RawClient leaving = client(1);
  attach(leaving);
  load_.longest_batch_ns = 1'000'000'000;
  load_.batches_in_flight = 1;
  leaving.hang_up();
  ASSERT_TRUE(serve_until([&] { return reclaimer_.postponed_count() >= 3; }));
  EXPECT_EQ(device_.calls(Call::unpin), 0U);
  EXPECT_EQ(sut_.admission().channel_count(), 0U);
  EXPECT_NE(sut_.admission().pinned_bytes(), 0U);
  load_.batches_in_flight = 0;
  EXPECT_TRUE(serve_until([&] { return sut_.empty(); }));
  EXPECT_EQ(sut_.admission().pinned_bytes(), 0U);
}

TEST_F(SessionLimitsTest, TakesMemoryBackAtOnceForWhoNeedsItsRoom) {
  RawClient leaving = client(1);
  attach(leaving);
  load_.longest_batch_ns = 1'000'000'000;
  load_.batches_in_flight = 1;
  leaving.hang_up();
  ASSERT_TRUE(serve_until([&] { return reclaimer_.postponed_count() >= 3; }));
  RawClient coming = client(2);
  attach(coming);
  EXPECT_EQ(sut_.admission().channel_count(), 1U);
}

TEST_F(SessionLimitsTest, TakesMemoryBackAtOnceForWhoWaitsForItAlready) {
  RawClient leaving = client(1);
  attach(leaving);
  device_.hold_kernels(true);
  leaving.submit(1, 0);
  ASSERT_TRUE(serve_until([&] { return leaving.view().issued(0).load() != 0; }));
  leaving.hang_up();
  ASSERT_TRUE(serve_until([&] { return sut_.admission().channel_count() == 0; }));
  RawClient coming = client(2);
  coming.send_request(page_slots(2));
  ASSERT_TRUE(serve_until([&] { return sut_.next_deadline_ns() != UINT64_MAX; }));
  load_.longest_batch_ns = 1'000'000'000;
  load_.batches_in_flight = 1;
  // The memory comes back only now, after somebody has begun to wait.
  device_.hold_kernels(false);
  ASSERT_TRUE(serve_until([&] { return coming.has_news(); }));
  EXPECT_EQ(coming.receive_reply().code, AttachCode::accepted);
}

TEST_F(SessionLimitsTest, KeepsRoomForOthersWhateverOneUserConnects) {
  std::vector<RawClient> crowd;
  for (int i = 0; i < 2 + 32; ++i) {
    crowd.push_back(client(1));
    EXPECT_FALSE(crowd.back().has_news()) << i;
  }
  RawClient refused = client(1);
  const AttachReply reply = refused.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::daemon_full);
  EXPECT_TRUE(
      says(read_text(reply.text), {"uid 1 has 34 connections open", "raise max-channels-per-uid"}));
  EXPECT_TRUE(refused.sees_the_end());
  RawClient other = client(2);
  EXPECT_FALSE(other.has_news());
  // One of them leaves, and the next of that user is welcome.
  crowd.pop_back();
  ASSERT_TRUE(serve_until([&] { return !client(1).has_news(); }));
}

TEST_F(SessionLimitsTest, TurnsAwayMoreConnectionsThanItKeeps) {
  std::vector<RawClient> crowd;
  for (uid_t uid = 0; uid < 8 + 64; ++uid) {
    crowd.push_back(client(uid));
    EXPECT_FALSE(crowd.back().has_news()) << uid;
  }
  RawClient refused = client(1000);
  const AttachReply reply = refused.receive_reply();
  EXPECT_EQ(reply.code, AttachCode::daemon_full);
  EXPECT_TRUE(says(read_text(reply.text), {"too many connections are open", "raise max-channels"}));
}

TEST_F(SessionLimitsTest, RefusesAConnectionThatCannotBeWatched) {
  // The kernel watches no regular file.
  sut_.open(FileDescriptor(::memfd_create("no socket", MFD_CLOEXEC)), of_user(1),
            monotonic_now_ns());
  EXPECT_TRUE(says(log_.text(), {"daemon full", "cannot watch another connection",
                                 "Operation not permitted", "try again"}));
  sut_.forget_gone(monotonic_now_ns());
  EXPECT_TRUE(sut_.empty());
}

}  // namespace
}  // namespace overlap
