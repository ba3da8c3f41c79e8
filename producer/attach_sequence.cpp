#include "producer/attach_sequence.hpp"

#include "shared/byte_size.hpp"
#include "shared/control_protocol.hpp"
#include "shared/control_socket.hpp"
#include "shared/duration_text.hpp"
#include "shared/monotonic_clock.hpp"

#include <poll.h>
#include <sys/stat.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <optional>
#include <stdexcept>
#include <system_error>
#include <utility>

namespace overlap {
namespace {

constexpr std::uint64_t kBusyListenerRetryNs = 5'000'000;

/// Of a feature that was not agreed on nothing is believed.
ChannelAbilities read_abilities(const AttachReply& reply) {
  ChannelAbilities abilities;
  abilities.features = reply.features_accepted & kSupportedFeatures;
  if ((abilities.features & kFeatureState) != 0) {
    abilities.stateful_pipelines = reply.stateful_pipelines;
  }
  if ((abilities.features & kFeatureJobParameters) != 0) {
    for (std::size_t i = 0; i < kMaxPipelines; ++i) {
      std::ranges::copy(reply.job_parameters[i], abilities.job_parameters[i].begin());
    }
  }
  return abilities;
}

class AttachSequence {
 public:
  explicit AttachSequence(const AttachGoal& plan) : plan_(plan) {}

  std::shared_ptr<ChannelConnection> run() {
    const AttachRequest request = make_request();
    connect();
    send(request, "the request");
    Packet packet = receive("an answer to the request", Descriptors::expected);
    const auto reply = read_message<AttachReply>(packet.bytes, MessageType::attach_reply);
    if (!reply) {
      fail_as_stranger("it answered with something that is no attach reply");
    }
    if (reply->code != AttachCode::accepted) {
      fail_as_refused(reply->code, read_text(reply->text));
    }
    return take_channel(*reply);
  }

 private:
  enum class Descriptors : bool { none, expected };

  AttachRequest make_request() const {
    try {
      AttachRequest request = make_attach_request(plan_.geometry, plan_.pipelines);
      request.priority = plan_.priority;
      request.weight = plan_.weight;
      request.flags = plan_.flags;
      if (has_tables()) {
        plan_.tables->name_tables(request);
        request.features_required |= kFeatureTables;
      }
      return request;
    } catch (const std::length_error& error) {
      fail(AttachFailure::bad_options, error.what(), error.what());
    }
  }

  bool has_tables() const noexcept { return plan_.tables != nullptr && plan_.tables->count() != 0; }

  void connect() {
    const std::uint64_t deadline_ns = step_deadline_ns();
    for (;;) {
      int error_number = 0;
      {
        const NoForkSection section;
        socket_ = PrivateDescriptor(connect_control_socket(plan_.path.path, error_number), section);
      }
      if (socket_) {
        return;
      }
      if (error_number != EAGAIN) {
        fail_to_connect(error_number);
      }
      // EAGAIN: the daemon's queue of connections is full; it is there, so try again.
      const std::uint64_t now_ns = monotonic_now_ns();
      if (now_ns >= deadline_ns) {
        fail_as_timed_out("a place in the daemon's queue of connections");
      }
      await(-1, std::min(deadline_ns, now_ns + kBusyListenerRetryNs));
    }
  }

  template <class Message>
  void send(const Message& message, const char* what) {
    if (!send_packet(socket_.descriptor(), message_bytes(message))) {
      fail(AttachFailure::hung_up, std::string("the daemon closed the connection before ") + what,
           "closed the connection");
    }
  }

  Packet receive(const char* what, Descriptors descriptors) {
    const std::uint64_t deadline_ns = step_deadline_ns();
    for (;;) {
      Packet packet;
      {
        const NoForkSection section;
        packet = descriptors == Descriptors::expected
                     ? receive_packet_with_descriptors(socket_.descriptor())
                     : receive_packet(socket_.descriptor());
        for (FileDescriptor& descriptor : packet.descriptors) {
          received_.emplace_back(std::move(descriptor), section);
        }
      }
      switch (packet.outcome) {
        case Packet::Outcome::received:
          return packet;
        case Packet::Outcome::closed:
          fail(AttachFailure::hung_up,
               std::string("the connection was closed while waiting for ") + what +
                   "; the daemon died, or it is another program's socket",
               "closed the connection");
        case Packet::Outcome::empty:
          break;
      }
      if (monotonic_now_ns() >= deadline_ns) {
        fail_as_timed_out(what);
      }
      await(socket_.get(), deadline_ns);
    }
  }

  std::shared_ptr<ChannelConnection> take_channel(const AttachReply& reply) {
    const std::optional<ChannelGeometry> geometry = read_geometry(reply);
    if (!geometry || received_.size() != 3 || !answers_request(*geometry)) {
      fail_as_stranger("it accepted with a memory layout that was not asked for");
    }
    if (has_tables() && (reply.features_accepted & kFeatureTables) == 0) {
      fail_as_stranger("it accepted a channel with tables and does not know tables");
    }
    ChannelMapping mapping = map_memory(*geometry);
    received_[0].reset();
    if (has_tables()) {
      // The daemon copies them once it has heard that the memory is mapped.
      const ChannelView view(mapping.bytes(), *geometry);
      plan_.tables->write_contents(view.tables());
    }
    send(make_message<MappedNotice>(MessageType::mapped), "the memory was mapped");
    await_ready();
    auto connection = std::make_shared<ChannelConnection>(
        ChannelDescriptors{std::move(socket_), std::move(received_[1]), std::move(received_[2])},
        std::move(mapping), *geometry, std::string(read_text(reply.backend)),
        DaemonLimits{reply.max_slot_count, reply.max_slot_bytes, reply.max_channel_bytes},
        read_abilities(reply));
    if (!is_published(connection->view())) {
      fail_as_stranger("it said 'ready' with a memory that does not hold the agreed channel");
    }
    return connection;
  }

  bool answers_request(const ChannelGeometry& geometry) const noexcept {
    const GeometryRequest& asked = plan_.geometry;
    return geometry.slot_count == asked.slot_count && geometry.input_bytes == asked.input_bytes &&
           geometry.table_bytes == asked.table_bytes &&
           (asked.output_bytes == 0 || geometry.output_bytes == asked.output_bytes);
  }

  ChannelMapping map_memory(const ChannelGeometry& geometry) const {
    const FileDescriptor& memory = received_[0].descriptor();
    try {
      if (channel_memory_bytes(memory) != geometry.total_bytes) {
        fail_as_stranger("its memory is not as large as it says");
      }
      return ChannelMapping(memory, geometry.total_bytes, InheritMapping::no);
    } catch (const ChannelMemoryError& error) {
      AttachProblem problem =
          describe(AttachFailure::memory,
                   "the channel's memory of " + format_bytes(geometry.total_bytes) +
                       " cannot be mapped: " + error.what() + "; ask for fewer or smaller slots",
                   error.what());
      problem.error_number = error.error_number();
      throw AttachError(std::move(problem));
    }
  }

  void await_ready() {
    const Packet packet = receive("the memory to be made ready", Descriptors::none);
    if (read_message<ReadyNotice>(packet.bytes, MessageType::ready)) {
      return;
    }
    if (const auto refused = read_message<RefusedNotice>(packet.bytes, MessageType::refused)) {
      fail_as_refused(refused->code, read_text(refused->text));
    }
    if (const auto closing = read_message<ClosingNotice>(packet.bytes, MessageType::closing)) {
      fail_as_refused(
          closing->reason == CloseReason::drain ? AttachCode::stopping : AttachCode::not_permitted,
          read_text(closing->text));
    }
    fail_as_stranger("it answered with something that is neither 'ready' nor 'refused'");
  }

  void await(int fd, std::uint64_t deadline_ns) const {
    std::array<pollfd, 2> watched{pollfd{fd, POLLIN, 0}, pollfd{plan_.stop_descriptor, POLLIN, 0}};
    const std::uint64_t now_ns = monotonic_now_ns();
    const std::uint64_t left_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    const timespec timeout{static_cast<time_t>(left_ns / 1'000'000'000),
                           static_cast<long>(left_ns % 1'000'000'000)};
    ::ppoll(watched.data(), watched.size(), &timeout, nullptr);
    if (watched[1].revents != 0) {
      fail(AttachFailure::abandoned, "the producer was destroyed meanwhile", "abandoned");
    }
  }

  std::uint64_t step_deadline_ns() const noexcept {
    return monotonic_now_ns() + static_cast<std::uint64_t>(plan_.step_timeout.count());
  }

  AttachProblem describe(AttachFailure failure, std::string text, std::string why) const {
    AttachProblem problem;
    problem.failure = failure;
    problem.text = std::move(text);
    for (const std::string& path : plan_.path.tried) {
      if (path != plan_.path.path) {
        problem.attempts.push_back({path, "does not exist"});
      }
    }
    problem.attempts.push_back({plan_.path.path, std::move(why)});
    return problem;
  }

  [[noreturn]] void fail(AttachFailure failure, std::string text, std::string why) const {
    throw AttachError(describe(failure, std::move(text), std::move(why)));
  }

  [[noreturn]] void fail_to_connect(int error_number) const {
    AttachFailure failure = AttachFailure::not_listening;
    std::string text =
        "nobody listens; start overlapd or name its socket with --socket or "
        "$OVERLAPD_SOCKET";
    struct stat status {};
    switch (error_number) {
      case ENOENT:
      case ENOTDIR:
        failure = AttachFailure::no_socket;
        text =
            "there is no socket; start overlapd or name its socket with --socket or "
            "$OVERLAPD_SOCKET";
        break;
      case EACCES:
      case EPERM:
        failure = AttachFailure::no_permission;
        text = "no permission for the socket; join its group or ask whoever runs the daemon";
        break;
      case EPROTOTYPE:
        failure = AttachFailure::not_overlapd;
        text = "this is not an overlapd socket but one of another kind; name overlapd's";
        break;
      case ECONNREFUSED:
        if (::stat(plan_.path.path.c_str(), &status) == 0 && !S_ISSOCK(status.st_mode)) {
          failure = AttachFailure::not_overlapd;
          text = "this is not an overlapd socket but another kind of file; name overlapd's";
        }
        break;
      default:
        break;
    }
    AttachProblem problem =
        describe(failure, std::move(text), std::generic_category().message(error_number));
    problem.error_number = error_number;
    throw AttachError(std::move(problem));
  }

  [[noreturn]] void fail_as_refused(AttachCode code, std::string_view daemon_text) const {
    const std::string reason = std::string(attach_code_text(code)) +
                               (daemon_text.empty() ? "" : ": ") + std::string(daemon_text);
    AttachProblem problem =
        describe(AttachFailure::refused, "the daemon refused, " + reason, "refused");
    problem.code = code;
    throw AttachError(std::move(problem));
  }

  [[noreturn]] void fail_as_stranger(const std::string& what) const {
    fail(AttachFailure::not_overlapd,
         "this is not an overlapd socket, or one of another version: " + what, what);
  }

  [[noreturn]] void fail_as_timed_out(const std::string& what) const {
    const std::string limit = format_duration(plan_.step_timeout);
    fail(AttachFailure::timed_out,
         "timed out: waited " + limit + " for " + what +
             "; look at the daemon's log or raise attach_timeout",
         "no answer within " + limit);
  }

  const AttachGoal& plan_;
  PrivateDescriptor socket_;
  /// Memory, doorbell, wake, in the order in which they came.
  std::vector<PrivateDescriptor> received_;
};

}  // namespace

std::shared_ptr<ChannelConnection> attach_channel(const AttachGoal& plan) {
  return AttachSequence(plan).run();
}

bool may_pass(const AttachProblem& problem) noexcept {
  switch (problem.failure) {
    case AttachFailure::no_socket:
    case AttachFailure::no_permission:
    case AttachFailure::not_listening:
    case AttachFailure::hung_up:
    case AttachFailure::timed_out:
      return true;
    case AttachFailure::refused:
      // What was refused for want of room may have it once others have gone.
      return problem.code == AttachCode::stopping || problem.code == AttachCode::timed_out ||
             problem.code == AttachCode::daemon_full || problem.code == AttachCode::memory_refused;
    case AttachFailure::not_overlapd:
    case AttachFailure::memory:
    case AttachFailure::bad_options:
    case AttachFailure::abandoned:
      return false;
  }
  return false;
}

}  // namespace overlap
