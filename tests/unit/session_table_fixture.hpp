#pragma once

#include "tests/unit/control_fixture.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <optional>

namespace overlap::testing {

/// Of the channels that `attached` attaches.
inline constexpr std::uint32_t kSlots = 2;

/// A daemon on a device that never fails by itself, started once its settings are as a test wants them.
class SessionTableFixture : public ::testing::Test {
 protected:
  /// Room for so many channels of two slots, and so many channels at all.
  void start(std::uint64_t channels_of_memory, std::uint32_t max_channels) {
    settings_.limits.max_pinned_bytes = channels_of_memory * channel_bytes(page_slots(kSlots));
    settings_.limits.max_channels = max_channels;
    start();
  }
  void start() { daemon_.emplace(device_, settings_); }

  [[nodiscard]] RawClient client() const { return RawClient(daemon_->socket_path()); }
  [[nodiscard]] RawClient attached() {
    RawClient client(daemon_->socket_path());
    client.attach(page_slots(kSlots));
    return client;
  }
  /// Whether the whole way of a job works.
  [[nodiscard]] static bool serves(RawClient& client, std::uint64_t job_id = 1) {
    client.submit(job_id, 0);
    const auto completion = client.collect();
    return completion && completion->job_id == job_id &&
           completion->status == static_cast<std::uint16_t>(JobStatus::ok) &&
           client.output_is_copy(job_id, 0);
  }
  [[nodiscard]] bool everything_is_given_back() {
    return daemon_->books_are_empty() && device_.pinned_range_count() == 0 &&
           device_.calls(VirtualTimeDevice::Call::pin) ==
               device_.calls(VirtualTimeDevice::Call::unpin);
  }

  SharedDevice device_;
  ControlSettings settings_ = roomy_settings();
  std::optional<RunningDaemon> daemon_;
};

}  // namespace overlap::testing
