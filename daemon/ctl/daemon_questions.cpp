#include "daemon/ctl/daemon_questions.hpp"

#include "shared/control_socket.hpp"

#include <poll.h>
#include <algorithm>
#include <utility>

namespace overlap {
namespace {

constexpr int kAnswerTimeoutMs = 2000;
/// Far more entries than any daemon lists.
constexpr std::uint32_t kMostListed = 1U << 14U;

template <class Reply, class Request>
std::optional<Reply> ask(const FileDescriptor& socket, const Request& request, MessageType type) {
  if (!send_packet(socket, message_bytes(request))) {
    return std::nullopt;
  }
  pollfd readable{socket.get(), POLLIN, 0};
  if (::poll(&readable, 1, kAnswerTimeoutMs) != 1) {
    return std::nullopt;
  }
  const Packet packet = receive_packet(socket);
  if (packet.outcome != Packet::Outcome::received) {
    return std::nullopt;
  }
  return read_message<Reply>(packet.bytes, type);
}

}  // namespace

std::optional<StatusReply> ask_status(const FileDescriptor& socket) {
  return ask<StatusReply>(socket, make_message<StatusRequest>(MessageType::status_request),
                          MessageType::status_reply);
}

std::optional<std::vector<ListedKernel>> ask_kernels(const FileDescriptor& socket) {
  std::vector<ListedKernel> kernels;
  auto request = make_message<KernelListRequest>(MessageType::kernel_list_request);
  for (;; ++request.index) {
    const auto reply = ask<KernelListReply>(socket, request, MessageType::kernel_list_reply);
    if (!reply || reply->index != request.index) {
      return std::nullopt;
    }
    if (reply->kind == ListedKind::none) {
      return kernels;
    }
    // Who never comes to an end must not be listened to for ever.
    if (request.index >= std::min(reply->count, kMostListed)) {
      return std::nullopt;
    }
    auto listed = read_listed(*reply);
    if (!listed) {
      return std::nullopt;
    }
    kernels.push_back(std::move(*listed));
  }
}

}  // namespace overlap
