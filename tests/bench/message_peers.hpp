#pragma once

#include "tests/bench/process_fleet.hpp"
#include "tests/bench/role.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace overlap::bench {

/// What people use today to hand payloads to another process and to get results back, with as many
/// producer processes as the daemon has and as many messages in flight as they have slots. The other
/// process runs the daemon's own kernel on as many threads as the daemon has workers.
class MessagePeer {
 public:
  virtual ~MessagePeer() = default;
  [[nodiscard]] virtual std::string name() const = 0;
  /// One round of all its producers.
  virtual FleetOutcome run(std::chrono::milliseconds duration) = 0;
};

/// The sizes of a peer's measurement.
struct MessageLoad {
  std::uint64_t slot_bytes;
  /// Messages in flight of each producer.
  std::uint32_t slot_count;
  std::uint32_t producer_count;
  std::uint32_t thread_count;
};

/// A peer, or why there is none.
struct MessagePeerOrReason {
  std::unique_ptr<MessagePeer> peer;
  std::string why_not;
};

/// ZeroMQ over `ipc://`, a pair of sockets for each producer and thread.
/// @throws std::runtime_error, Interrupted
[[nodiscard]] MessagePeerOrReason start_zeromq_peer(const MessageLoad& load);
/// `boost::interprocess::message_queue`, one for requests and one a producer for results.
/// @throws std::runtime_error, Interrupted
[[nodiscard]] MessagePeerOrReason start_message_queue_peer(const MessageLoad& load);

/// The roles of their processes, or null if the name is not one of them.
[[nodiscard]] std::unique_ptr<Role> make_message_peer_role(const RoleOptions& options);
[[nodiscard]] std::unique_ptr<Role> make_zeromq_role(const RoleOptions& options);
[[nodiscard]] std::unique_ptr<Role> make_message_queue_role(const RoleOptions& options);

}  // namespace overlap::bench
