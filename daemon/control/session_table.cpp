#include "daemon/control/session_table.hpp"

#include "daemon/control/kernel_entries.hpp"
#include "shared/byte_size.hpp"
#include "shared/control_socket.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <utility>

namespace overlap {
namespace {

/// Connections beyond the channels: clients that ask for the status, producers about to attach.
constexpr std::uint32_t kSpareConnections = 64;
/// How many of them one user may have.
constexpr std::uint32_t kSpareConnectionsPerUid = 32;

std::uint32_t key_of(ChannelId id) noexcept { return static_cast<std::uint32_t>(id); }

}  // namespace

SessionTable::SessionTable(const SessionServices& services, AdmissionLimits limits,
                           std::chrono::nanoseconds attach_timeout)
    : services_(services),
      admission_(std::move(limits)),
      attach_timeout_ns_(static_cast<std::uint64_t>(attach_timeout.count())) {}

std::string SessionTable::why_crowded(uid_t uid) const {
  const AdmissionLimits& limits = admission_.limits();
  const std::uint64_t most = std::uint64_t{limits.max_channels} + kSpareConnections;
  if (connection_count_ >= most) {
    return "too many connections are open; close one, or raise max-channels";
  }
  // Never all of the spare ones: whatever a user's programs do, others can still come.
  const std::uint64_t most_of_one =
      std::uint64_t{std::min(limits.max_channels, limits.max_channels_per_uid)} +
      kSpareConnectionsPerUid;
  const auto found = connections_by_uid_.find(uid);
  if (found != connections_by_uid_.end() && found->second >= most_of_one) {
    return "uid " + std::to_string(uid) + " has " + std::to_string(found->second) +
           " connections open; close one, or raise max-channels-per-uid";
  }
  return {};
}

void SessionTable::open(FileDescriptor socket, const PeerIdentity& peer, std::uint64_t now_ns) {
  const std::string crowded = why_crowded(peer.uid);
  const ChannelId id{++last_id_};
  Session& session = sessions_[id];
  session.id = id;
  session.socket = std::move(socket);
  session.peer = peer;
  ++connection_count_;
  ++connections_by_uid_[peer.uid];
  const std::error_code unwatched =
      services_.poll.add(session.socket.get(), EventSource::socket, key_of(id));
  if (!crowded.empty() || unwatched) {
    // Closing with something unread would reset the connection in front of the answer.
    static_cast<void>(receive_packet(session.socket));
    refuse(session, AttachCode::daemon_full,
           !crowded.empty() ? crowded
                            : "the daemon cannot watch another connection (" + unwatched.message() +
                                  "); try again once a producer has left");
    return;
  }
  start_deadline(session, now_ns);
}

const FileDescriptor* SessionTable::on_readable(std::uint32_t key, std::uint64_t now_ns) {
  Session* session = find(ChannelId{key});
  if (session == nullptr || !session->socket) {
    return nullptr;
  }
  const Packet packet = receive_packet(session->socket);
  if (packet.outcome == Packet::Outcome::empty) {
    return nullptr;
  }
  if (packet.outcome == Packet::Outcome::closed) {
    close(*session, CloseReason::none, {});
    return nullptr;
  }
  const auto type = message_type(packet.bytes);
  if (type == MessageType::status_request) {
    // No more time for it: who only ever asks would keep its connection for ever.
    return &session->socket;
  }
  if (const auto asked =
          read_message<KernelListRequest>(packet.bytes, MessageType::kernel_list_request)) {
    const KernelListReply reply = kernel_entry(services_.kernels, asked->index);
    static_cast<void>(send_packet(session->socket, message_bytes(reply)));
    return nullptr;
  }
  if (session->state == SessionState::connected && type == MessageType::attach_request) {
    on_attach_request(
        *session, *read_message<AttachRequest>(packet.bytes, MessageType::attach_request), now_ns);
  } else if (session->state == SessionState::offered && type == MessageType::mapped) {
    on_mapped(*session);
  } else if (session->state == SessionState::connected) {
    refuse(*session, AttachCode::malformed_request,
           "the first message is no attach request of this protocol");
  } else {
    close(*session, CloseReason::violation, "a control message that does not belong here");
  }
  return nullptr;
}

void SessionTable::on_report(PinReport report, std::uint64_t now_ns) {
  if (auto* allocated = std::get_if<StoreAllocated>(&report)) {
    on_allocated(std::move(*allocated), now_ns);
  } else if (const auto* progress = std::get_if<StoreProgress>(&report)) {
    services_.log.debug("channel {}: {} pinned", key_of(progress->channel),
                        format_bytes(progress->pinned_bytes));
  } else if (auto* prepared = std::get_if<StorePrepared>(&report)) {
    on_prepared(std::move(*prepared));
  } else {
    on_given_back(std::get<StoreGivenBack>(report));
  }
}

void SessionTable::on_given_back(const StoreGivenBack& report) {
  Session* session = find(report.channel);
  if (!report.warning.empty()) {
    services_.log.error("channel {}: {}", key_of(report.channel), report.warning);
  }
  if (session == nullptr) {
    return;
  }
  admission_.finish_return(session->granted_bytes);
  step(*session, SessionState::gone);
}

void SessionTable::on_violation(ChannelId channel, const std::string& why) {
  Session* session = find(channel);
  if (session != nullptr && session->state == SessionState::open) {
    close(*session, CloseReason::violation, why);
  }
}

void SessionTable::on_removed(ChannelId channel) {
  Session* session = find(channel);
  if (session == nullptr || session->state != SessionState::leaving) {
    return;
  }
  // Producers share the open files: closing ours would leave them watched.
  services_.engine.forget_doorbell(session->doorbell.get());
  end(*session);
}

void SessionTable::check_deadlines(std::uint64_t now_ns) {
  while (!deadlines_.empty() && deadlines_.begin()->first <= now_ns) {
    Session& session = sessions_.at(deadlines_.begin()->second);
    if (session.state == SessionState::waiting_for_room) {
      refuse(session, AttachCode::daemon_full,
             "memory that is being given back did not come back in time; try again");
    } else {
      refuse(session, AttachCode::timed_out, "the producer did not speak in time; try again");
    }
  }
}

void SessionTable::refuse(Session& session, AttachCode code, const std::string& text) {
  services_.log.warn("refused pid {} (uid {}): {}: {}", session.peer.pid, session.peer.uid,
                     attach_code_text(code), text);
  if (session.state == SessionState::offered || session.state == SessionState::preparing) {
    auto notice = make_message<RefusedNotice>(MessageType::refused);
    notice.code = code;
    write_text(notice.text, text);
    static_cast<void>(send_packet(session.socket, message_bytes(notice)));
  } else {
    AttachReply reply = make_reply(code);
    write_text(reply.text, text);
    static_cast<void>(send_packet(session.socket, message_bytes(reply)));
  }
  drop_socket(session);
  end(session);
}

void SessionTable::close(Session& session, CloseReason reason, const std::string& text) {
  if (reason == CloseReason::none) {
    services_.log.debug("channel {}: pid {} has gone", key_of(session.id), session.peer.pid);
  } else {
    services_.log.info("channel {}: closing pid {}: {}: {}", key_of(session.id), session.peer.pid,
                       close_reason_text(reason), text);
    auto notice = make_message<ClosingNotice>(MessageType::closing);
    notice.reason = reason;
    write_text(notice.text, text);
    static_cast<void>(send_packet(session.socket, message_bytes(notice)));
  }
  let_go(session);
}

void SessionTable::let_go(Session& session) {
  drop_socket(session);
  switch (session.state) {
    case SessionState::connected:
    case SessionState::waiting_for_room:
    case SessionState::offered:
      end(session);
      return;
    case SessionState::allocating:
    case SessionState::preparing:
      // From now on, not from the report on: whoever attaches next waits for this memory.
      admission_.start_return(session.peer.uid, session.granted_bytes);
      step(session, SessionState::doomed);
      services_.pin_worker.cancel(session.id);
      return;
    case SessionState::open:
      admission_.start_return(session.peer.uid, session.granted_bytes);
      step(session, SessionState::leaving);
      services_.engine.remove(session.id);
      return;
    case SessionState::doomed:
    case SessionState::leaving:
    case SessionState::returning:
    case SessionState::gone:
      return;
  }
}

void SessionTable::end(Session& session) {
  const bool is_returning =
      session.state == SessionState::doomed || session.state == SessionState::leaving;
  if (session.granted_bytes != 0 && !is_returning) {
    admission_.start_return(session.peer.uid, session.granted_bytes);
  }
  if (session.doorbell) {
    // Shared with the producer: closing it alone would leave it watched.
    services_.poll.remove(session.doorbell.get());
    session.doorbell.reset();
  }
  session.wake.reset();
  if (!session.store && !session.memory) {
    if (session.granted_bytes != 0) {
      admission_.finish_return(session.granted_bytes);
    }
    step(session, SessionState::gone);
    return;
  }
  ChannelStore store;
  if (session.store) {
    store = std::move(*session.store);
    session.store.reset();
  } else {
    store.memory = std::move(session.memory);
  }
  step(session, SessionState::returning);
  services_.reclaimer.give_back(session.id, std::move(store));
  if (waiting_count_ != 0) {
    services_.reclaimer.hurry();
  }
}

void SessionTable::step(Session& session, SessionState to) {
  assert(may_step(session.state, to));
  drop_deadline(session);
  if (session.state == SessionState::waiting_for_room) {
    --waiting_count_;
  }
  session.state = to;
  if (to == SessionState::waiting_for_room) {
    ++waiting_count_;
  }
  any_gone_ = any_gone_ || to == SessionState::gone;
}

void SessionTable::start_deadline(Session& session, std::uint64_t now_ns) {
  drop_deadline(session);
  session.deadline_ns = now_ns + attach_timeout_ns_;
  deadlines_.emplace(session.deadline_ns, session.id);
}

void SessionTable::drop_deadline(Session& session) {
  if (session.deadline_ns != 0) {
    deadlines_.erase({session.deadline_ns, session.id});
    session.deadline_ns = 0;
  }
}

void SessionTable::drop_socket(Session& session) {
  session.socket.reset();
  --connection_count_;
  const auto found = connections_by_uid_.find(session.peer.uid);
  if (--found->second == 0) {
    connections_by_uid_.erase(found);
  }
}

void SessionTable::close_all(CloseReason reason, const std::string& text) {
  for (auto& [id, session] : sessions_) {
    if (session.socket) {
      close(session, reason, text);
    }
  }
}

void SessionTable::forget_gone(std::uint64_t now_ns) {
  // Offering room may refuse somebody, who then has gone as well.
  while (any_gone_) {
    any_gone_ = false;
    std::erase_if(sessions_,
                  [](const auto& entry) { return entry.second.state == SessionState::gone; });
    for (auto& [id, waiting] : sessions_) {
      if (waiting.state == SessionState::waiting_for_room) {
        request_room(waiting, now_ns);
      }
    }
  }
}

Session* SessionTable::find(ChannelId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

}  // namespace overlap
