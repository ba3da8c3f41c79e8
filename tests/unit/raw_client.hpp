#pragma once

#include "shared/channel_memory.hpp"
#include "shared/channel_view.hpp"
#include "shared/completion_ring.hpp"
#include "shared/control_protocol.hpp"
#include "shared/control_socket.hpp"
#include "shared/file_descriptor.hpp"
#include "shared/submission_ring.hpp"
#include "tests/unit/patience.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>

namespace overlap::testing {

/// A client that speaks the protocol step by step, rightly or wrongly.
class RawClient {
 public:
  /// @throws std::runtime_error if there is no daemon
  explicit RawClient(const std::string& socket_path);
  explicit RawClient(FileDescriptor socket) : socket_(std::move(socket)) {}

  [[nodiscard]] const FileDescriptor& socket() const noexcept { return socket_; }
  void hang_up() { socket_.reset(); }

  bool send_bytes(std::span<const std::byte> bytes) { return send_packet(socket_, bytes); }
  template <class Message>
  bool send(const Message& message) {
    return send_bytes(message_bytes(message));
  }
  /// The next packet, or the end of the connection.
  /// @throws std::runtime_error if patience ended
  [[nodiscard]] Packet receive();
  /// @throws std::runtime_error if something else comes
  template <class Message>
  [[nodiscard]] Message receive(MessageType type) {
    const Packet packet = receive();
    const auto message = read_message<Message>(packet.bytes, type);
    if (!message) {
      throw std::runtime_error("instead of message " + std::to_string(static_cast<unsigned>(type)) +
                               " came " + describe(packet));
    }
    return *message;
  }
  /// Whether there is a packet, or the end, right now.
  [[nodiscard]] bool has_news() const;
  /// Whether what comes next is the end of the connection.
  [[nodiscard]] bool sees_the_end() { return receive().outcome == Packet::Outcome::closed; }

  [[nodiscard]] StatusReply ask_status();
  void send_request(const GeometryRequest& geometry, const std::string& pipeline = "copy");
  /// Takes the answer to a request, and the descriptors that come with it.
  [[nodiscard]] AttachReply receive_reply();
  /// Maps the memory of an accepting reply and says so.
  void map();
  void await_ready();
  /// All of it.
  /// @throws std::runtime_error if the daemon refuses
  void attach(const GeometryRequest& geometry, const std::string& pipeline = "copy");

  /// @pre mapped
  [[nodiscard]] const ChannelView& view() const noexcept { return view_; }
  /// Submits a job whose input is a pattern of its own. @pre attached
  void submit(std::uint64_t job_id, std::uint32_t slot);
  /// Waits until the job is on the device.
  [[nodiscard]] bool await_issued(std::uint32_t slot) const;
  /// Waits for one completion and collects it.
  [[nodiscard]] std::optional<CompletionEntry> collect();
  /// Whether the slot's output is the pattern of `submit`.
  [[nodiscard]] bool output_is_copy(std::uint64_t job_id, std::uint32_t slot) const;

 private:
  [[nodiscard]] static std::string describe(const Packet& packet);

  FileDescriptor socket_;
  FileDescriptor memory_;
  FileDescriptor doorbell_;
  FileDescriptor wake_;
  ChannelGeometry geometry_;
  std::unique_ptr<ChannelMapping> mapping_;
  ChannelView view_;
  SubmissionWriter submissions_;
  CompletionReader completions_;
};

}  // namespace overlap::testing
