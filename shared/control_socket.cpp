#include "shared/control_socket.hpp"

#include "shared/control_protocol.hpp"

#include <sys/socket.h>
#include <sys/un.h>
#include <array>
#include <cerrno>
#include <cstring>

namespace overlap {
namespace {

constexpr std::size_t kMaxDescriptors = 4;
constexpr std::size_t kControlBytes = CMSG_SPACE(kMaxDescriptors * sizeof(int));

void collect_descriptors(msghdr& message, std::vector<FileDescriptor>& out) {
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part != nullptr;
       part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) {
      continue;
    }
    const std::size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (std::size_t i = 0; i < count; ++i) {
      int fd = -1;
      std::memcpy(&fd, CMSG_DATA(part) + i * sizeof(int), sizeof fd);
      out.emplace_back(fd);
    }
  }
}

Packet receive(const FileDescriptor& socket, std::span<std::byte> control) {
  Packet packet;
  std::array<std::byte, kMaxMessageBytes> buffer;
  iovec where{buffer.data(), buffer.size()};
  msghdr message{};
  message.msg_iov = &where;
  message.msg_iovlen = 1;
  if (!control.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = control.size();
  }
  ssize_t got = 0;
  bool again = false;
  bool was_reset = false;
  do {
    got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    // A peer that closed without having read us: what it said before stands behind the error.
    const bool reset_now = got < 0 && errno == ECONNRESET && !was_reset;
    was_reset = was_reset || reset_now;
    again = got < 0 && (errno == EINTR || reset_now);
  } while (again);
  if (got < 0) {
    packet.outcome =
        errno == EAGAIN || errno == EWOULDBLOCK ? Packet::Outcome::empty : Packet::Outcome::closed;
    return packet;
  }
  if (!control.empty()) {
    collect_descriptors(message, packet.descriptors);
  }
  // A seqpacket end of file and an empty packet look the same: both end the connection.
  if (got == 0 || (message.msg_flags & MSG_TRUNC) != 0) {
    packet.outcome = Packet::Outcome::closed;
    return packet;
  }
  packet.outcome = Packet::Outcome::received;
  packet.bytes.assign(buffer.begin(), buffer.begin() + got);
  return packet;
}

}  // namespace

FileDescriptor connect_control_socket(const std::string& path, int& error_number) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (path.empty() || path.size() >= sizeof address.sun_path) {
    error_number = path.empty() ? ENOENT : ENAMETOOLONG;
    return {};
  }
  std::memcpy(address.sun_path, path.data(), path.size());
  FileDescriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) {
    error_number = errno;
    return {};
  }
  int result = 0;
  do {
    result = ::connect(socket.get(), reinterpret_cast<const sockaddr*>(&address), sizeof address);
  } while (result != 0 && errno == EINTR);
  if (result != 0) {
    error_number = errno;
    return {};
  }
  error_number = 0;
  return socket;
}

bool send_packet(const FileDescriptor& socket, std::span<const std::byte> bytes,
                 std::span<const int> descriptors) {
  if (descriptors.size() > kMaxDescriptors) {
    return false;
  }
  iovec what{const_cast<std::byte*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &what;
  message.msg_iovlen = 1;
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  if (!descriptors.empty()) {
    message.msg_control = control.data();
    message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
    cmsghdr* part = CMSG_FIRSTHDR(&message);
    part->cmsg_level = SOL_SOCKET;
    part->cmsg_type = SCM_RIGHTS;
    part->cmsg_len = CMSG_LEN(descriptors.size_bytes());
    std::memcpy(CMSG_DATA(part), descriptors.data(), descriptors.size_bytes());
  }
  ssize_t sent = 0;
  do {
    sent = ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  return sent == static_cast<ssize_t>(bytes.size());
}

Packet receive_packet(const FileDescriptor& socket) { return receive(socket, {}); }

Packet receive_packet_with_descriptors(const FileDescriptor& socket) {
  alignas(cmsghdr) std::array<std::byte, kControlBytes> control{};
  return receive(socket, control);
}

}  // namespace overlap
