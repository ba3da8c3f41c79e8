#pragma once

#include "shared/file_descriptor.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace overlap {

/// What one receive gave.
struct Packet {
  enum class Outcome : std::uint8_t {
    received,
    /// Nothing there now.
    empty,
    /// The peer has gone, or broke the rules of the socket.
    closed,
  };
  Outcome outcome = Outcome::empty;
  std::vector<std::byte> bytes;
  std::vector<FileDescriptor> descriptors;
};

/// Connects a SOCK_SEQPACKET Unix socket, close-on-exec and non-blocking.
/// @param[out] error_number why not, an errno
/// @return empty on failure
[[nodiscard]] FileDescriptor connect_control_socket(const std::string& path, int& error_number);

/// Sends one packet, with up to four descriptors. Never blocks, never raises SIGPIPE.
/// @return false if the peer is gone or does not read, or if there are more descriptors
[[nodiscard]] bool send_packet(const FileDescriptor& socket, std::span<const std::byte> bytes,
                               std::span<const int> descriptors = {});

/// Receives one packet with no room for descriptors: none can arrive. A zero-length packet and one
/// longer than the longest message close the connection.
[[nodiscard]] Packet receive_packet(const FileDescriptor& socket);

/// The same, taking up to four descriptors: for the side that trusts its peer.
[[nodiscard]] Packet receive_packet_with_descriptors(const FileDescriptor& socket);

/// The bytes of a message, to send.
template <class Message>
[[nodiscard]] std::span<const std::byte> message_bytes(const Message& message) noexcept {
  return std::as_bytes(std::span(&message, 1));
}

}  // namespace overlap
