#pragma once

#include "producer/channel_connection.hpp"
#include "producer/channel_tables.hpp"
#include "producer/producer_error.hpp"
#include "shared/channel_geometry.hpp"
#include "shared/channel_priority.hpp"
#include "shared/socket_path.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

namespace overlap {

/// What is needed to attach, the first time and again after the daemon's death.
struct AttachGoal {
  ClientSocketPath path;
  GeometryRequest geometry;
  std::vector<std::string> pipelines;
  /// Not changed during the attach; null for none. The geometry has room for them.
  const ChannelTables* tables = nullptr;
  /// `kAttachHistoryLost`, once a channel was lost.
  std::uint32_t flags = 0;
  ChannelPriority priority = ChannelPriority::normal;
  std::uint32_t weight = kDefaultChannelWeight;
  /// Bound of each step: connect, reply, ready.
  std::chrono::nanoseconds step_timeout{};
  /// When this becomes readable the attach is abandoned; -1 for none.
  int stop_descriptor = -1;
};

/// Connects, asks, maps, says so, waits for 'ready': the client's half of the attach.
/// @throws AttachError
[[nodiscard]] std::shared_ptr<ChannelConnection> attach_channel(const AttachGoal& plan);

/// Whether the same attach may succeed a moment later, with the daemon that is just starting.
[[nodiscard]] bool may_pass(const AttachProblem& problem) noexcept;

}  // namespace overlap
