#include "tests/unit/raw_client.hpp"

#include <poll.h>

#include <vector>

namespace overlap::testing {
namespace {

constexpr int kPatienceMs = 1000 * static_cast<int>(kPatience.count());

std::byte pattern_byte(std::uint64_t job_id, std::size_t at) {
  return static_cast<std::byte>(job_id * 131 + at * 7 + at / 251);
}

}  // namespace

RawClient::RawClient(const std::string& socket_path) {
  int error_number = 0;
  socket_ = connect_control_socket(socket_path, error_number);
  if (!socket_) {
    throw std::runtime_error("cannot connect: errno " + std::to_string(error_number));
  }
}

bool RawClient::has_news() const {
  pollfd entry{socket_.get(), POLLIN, 0};
  return ::poll(&entry, 1, 0) == 1;
}

Packet RawClient::receive() {
  pollfd entry{socket_.get(), POLLIN, 0};
  if (::poll(&entry, 1, kPatienceMs) != 1) {
    throw std::runtime_error("nothing came");
  }
  return receive_packet_with_descriptors(socket_);
}

std::string RawClient::describe(const Packet& packet) {
  if (packet.outcome == Packet::Outcome::closed) {
    return "the end";
  }
  if (const auto reply = read_message<AttachReply>(packet.bytes, MessageType::attach_reply)) {
    return "a reply: " + std::string(read_text(reply->text));
  }
  if (const auto notice = read_message<RefusedNotice>(packet.bytes, MessageType::refused)) {
    return "a refusal: " + std::string(read_text(notice->text));
  }
  if (const auto notice = read_message<ClosingNotice>(packet.bytes, MessageType::closing)) {
    return "a closing: " + std::string(read_text(notice->text));
  }
  return std::to_string(packet.bytes.size()) + " bytes";
}

StatusReply RawClient::ask_status() {
  send(make_message<StatusRequest>(MessageType::status_request));
  return receive<StatusReply>(MessageType::status_reply);
}

void RawClient::send_request(const GeometryRequest& geometry, const std::string& pipeline) {
  send(make_attach_request(geometry, std::vector<std::string>{pipeline}));
}

AttachReply RawClient::receive_reply() {
  Packet packet = receive();
  const auto reply = read_message<AttachReply>(packet.bytes, MessageType::attach_reply);
  if (!reply) {
    throw std::runtime_error("instead of a reply came " + describe(packet));
  }
  if (reply->code == AttachCode::accepted) {
    memory_ = std::move(packet.descriptors.at(0));
    doorbell_ = std::move(packet.descriptors.at(1));
    wake_ = std::move(packet.descriptors.at(2));
    geometry_ = read_geometry(*reply).value();
  }
  return *reply;
}

void RawClient::map() {
  mapping_ = std::make_unique<ChannelMapping>(memory_, geometry_.total_bytes, InheritMapping::yes);
  view_ = ChannelView(mapping_->bytes(), geometry_);
  send(make_message<MappedNotice>(MessageType::mapped));
}

void RawClient::await_ready() {
  static_cast<void>(receive<ReadyNotice>(MessageType::ready));
  if (!is_published(view_)) {
    throw std::runtime_error("'ready' came before the memory means anything");
  }
  submissions_ = SubmissionWriter(view_);
  completions_ = CompletionReader(view_);
}

void RawClient::attach(const GeometryRequest& geometry, const std::string& pipeline) {
  send_request(geometry, pipeline);
  const AttachReply reply = receive_reply();
  if (reply.code != AttachCode::accepted) {
    throw std::runtime_error("refused: " + std::string(read_text(reply.text)));
  }
  map();
  await_ready();
}

void RawClient::submit(std::uint64_t job_id, std::uint32_t slot) {
  const std::span<std::byte> input = view_.input(slot);
  for (std::size_t i = 0; i < input.size(); ++i) {
    input[i] = pattern_byte(job_id, i);
  }
  SubmissionEntry entry{};
  entry.job_id = job_id;
  entry.slot = slot;
  entry.input_bytes = input.size();
  if (!submissions_.write(entry)) {
    throw std::runtime_error("the submission ring is full");
  }
  if (submissions_.publish()) {
    ring(doorbell_.get());
  }
}

bool RawClient::await_issued(std::uint32_t slot) const {
  return eventually([&] { return view_.issued(slot).load(std::memory_order_acquire) != 0; });
}

std::optional<CompletionEntry> RawClient::collect() {
  if (!eventually([this] { return completions_.available() != 0; })) {
    return std::nullopt;
  }
  const CompletionEntry entry = completions_.take();
  completions_.release();
  return entry;
}

bool RawClient::output_is_copy(std::uint64_t job_id, std::uint32_t slot) const {
  const std::span<const std::byte> output = view_.output(slot);
  for (std::size_t i = 0; i < output.size(); ++i) {
    if (output[i] != pattern_byte(job_id, i)) {
      return false;
    }
  }
  return true;
}

}  // namespace overlap::testing
