#pragma once

#include "daemon/control/attach_plan.hpp"
#include "daemon/control/channel_store.hpp"
#include "daemon/control/peer_identity.hpp"
#include "daemon/engine/channel.hpp"
#include "shared/file_descriptor.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace overlap {

/// Where a connection stands.
///
///    connected ──request──▶ waiting_for_room ──room──▶ allocating ──memory──▶ offered
///        │                        │                        │                    │ mapped
///        │                        │                        ▼                    ▼
///        │                        │                     doomed ◀────────── preparing
///        ▼                        ▼                        │                    │ ready
///      gone ◀─────────────────────┴──── (nothing to free) ─┤                    ▼
///        ▲                                                 │       leaving ◀── open
///        └───────────── returning ◀───── (memory to free) ─┴──────────┘
///
/// Arrows down and left are hang-ups, time-outs and refusals. A connection that ends while the pin
/// worker has its memory is `doomed` until the worker reports; one that ends while the engine has its
/// channel is `leaving` until the engine lets go. Where memory was allocated, its end is `returning`
/// until the reclaimer has freed it: `allocating` (if it cannot be offered), `offered`, `doomed`.
enum class SessionState : std::uint8_t {
  connected,
  waiting_for_room,
  allocating,
  offered,
  preparing,
  open,
  doomed,
  leaving,
  returning,
  gone,
};

inline constexpr std::size_t kSessionStateCount = 10;

/// Every step a session may make: bits of the states it may go to.
inline constexpr std::array<std::uint16_t, kSessionStateCount> kSessionSteps = [] {
  const auto bits = [](auto... states) {
    return static_cast<std::uint16_t>(((1U << static_cast<unsigned>(states)) | ...));
  };
  using enum SessionState;
  std::array<std::uint16_t, kSessionStateCount> steps{};
  const auto from = [&](SessionState state) -> std::uint16_t& {
    return steps[static_cast<std::size_t>(state)];
  };
  from(connected) = bits(waiting_for_room, allocating, gone);
  from(waiting_for_room) = bits(allocating, gone);
  from(allocating) = bits(offered, doomed, returning, gone);
  from(offered) = bits(preparing, returning);
  from(preparing) = bits(open, doomed, gone);
  from(open) = bits(leaving);
  from(doomed) = bits(returning, gone);
  from(leaving) = bits(returning);
  from(returning) = bits(gone);
  return steps;
}();

[[nodiscard]] constexpr bool may_step(SessionState from, SessionState to) noexcept {
  return (kSessionSteps[static_cast<std::size_t>(from)] >> static_cast<unsigned>(to) & 1U) != 0;
}

/// One connection and, once attached, its channel. Restricted: the control thread.
struct Session {
  ChannelId id{};
  SessionState state = SessionState::connected;
  FileDescriptor socket;
  PeerIdentity peer;
  /// CLOCK_MONOTONIC, when the present state has lasted too long; 0 for never.
  std::uint64_t deadline_ns = 0;
  std::optional<AttachPlan> plan;
  /// Entered in the books; 0 if not.
  std::uint64_t granted_bytes = 0;
  /// Made and watched when the memory is offered, closed when the engine has let go.
  FileDescriptor doorbell;
  /// The daemon's end of the pipe that wakes the producer.
  FileDescriptor wake;
  /// Until `preparing` the bare memory, from `open` on the store.
  FileDescriptor memory;
  std::optional<ChannelStore> store;
};

}  // namespace overlap
