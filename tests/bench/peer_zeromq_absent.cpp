#include "tests/bench/message_peers.hpp"

#include <stdexcept>

namespace overlap::bench {

MessagePeerOrReason start_zeromq_peer(const MessageLoad& /*load*/) {
  return {nullptr, "left out: ZeroMQ: this program was built without libzmq3-dev and cppzmq-dev"};
}

std::unique_ptr<Role> make_zeromq_role(const RoleOptions& /*options*/) {
  throw std::runtime_error("built without ZeroMQ");
}

}  // namespace overlap::bench
