#include "daemon/control/session_table.hpp"

#include "shared/byte_size.hpp"
#include "shared/control_socket.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <system_error>

namespace overlap {
namespace {

std::uint32_t key_of(ChannelId id) noexcept { return static_cast<std::uint32_t>(id); }

}  // namespace

SessionTable::SessionTable(const SessionServices& services, AdmissionLimits limits,
                           std::chrono::nanoseconds attach_timeout)
    : services_(services),
      admission_(std::move(limits)),
      attach_timeout_ns_(static_cast<std::uint64_t>(attach_timeout.count())) {}

void SessionTable::open(FileDescriptor socket, const PeerIdentity& peer, std::uint64_t now_ns) {
  const ChannelId id{++last_id_};
  Session& session = sessions_[id];
  session.id = id;
  session.socket = std::move(socket);
  session.peer = peer;
  session.deadline_ns = now_ns + attach_timeout_ns_;
  services_.poll.add(session.socket.get(), EventSource::socket, key_of(id));
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
    if (session->state == SessionState::connected) {
      session->deadline_ns = now_ns + attach_timeout_ns_;
    }
    return &session->socket;
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

void SessionTable::on_attach_request(Session& session, const AttachRequest& request,
                                     std::uint64_t now_ns) {
  if (refusing_) {
    refuse(session, AttachCode::stopping, "the daemon is stopping; try again once it is back");
    return;
  }
  const Admission::Decision permitted = admission_.permit(session.peer);
  if (permitted.verdict != Admission::Verdict::granted) {
    refuse(session, AttachCode::not_permitted, permitted.text);
    return;
  }
  auto planned = plan_attach(request, services_.kernels, admission_.limits().geometry,
                             services_.device.properties().backend == "cuda");
  if (const auto* refusal = std::get_if<AttachRefusal>(&planned)) {
    refuse(session, refusal->code, refusal->text);
    return;
  }
  session.plan = std::move(std::get<AttachPlan>(planned));
  request_room(session, now_ns);
}

void SessionTable::request_room(Session& session, std::uint64_t now_ns) {
  const std::uint64_t bytes = session.plan->geometry.total_bytes;
  const Admission::Decision decision = admission_.grant(session.peer, bytes);
  switch (decision.verdict) {
    case Admission::Verdict::granted:
      session.granted_bytes = bytes;
      step(session, SessionState::allocating);
      services_.pin_worker.allocate(session.id, session.plan->geometry);
      return;
    case Admission::Verdict::full_for_now:
      if (session.state == SessionState::connected) {
        step(session, SessionState::waiting_for_room);
        session.deadline_ns = now_ns + attach_timeout_ns_;
      }
      return;
    case Admission::Verdict::full:
    case Admission::Verdict::not_permitted:
      refuse(session, AttachCode::daemon_full, decision.text);
      return;
  }
}

void SessionTable::on_report(PinReport report, std::uint64_t now_ns) {
  if (auto* allocated = std::get_if<StoreAllocated>(&report)) {
    on_allocated(std::move(*allocated), now_ns);
  } else if (auto* prepared = std::get_if<StorePrepared>(&report)) {
    on_prepared(std::move(*prepared));
  } else {
    on_given_back(std::get<StoreGivenBack>(report));
  }
}

void SessionTable::on_allocated(StoreAllocated report, std::uint64_t now_ns) {
  Session* session = find(report.channel);
  if (session == nullptr) {
    return;
  }
  if (session->state == SessionState::doomed) {
    finish_return(*session);
    return;
  }
  if (const auto* refusal = std::get_if<StoreRefusal>(&report.outcome)) {
    refuse(*session, AttachCode::memory_refused, refusal->text);
    return;
  }
  session->memory = std::move(std::get<FileDescriptor>(report.outcome));
  WakePipe wake;
  try {
    session->doorbell = make_eventfd();
    wake = make_wake_pipe();
  } catch (const std::system_error& error) {
    refuse(*session, AttachCode::memory_refused,
           std::string("the daemon cannot make a doorbell (") + error.what() +
               "); try again once a producer has left, or raise LimitNOFILE");
    return;
  }
  session->wake = std::move(wake.write_end);
  auto reply = make_message<AttachReply>(MessageType::attach_reply);
  reply.code = AttachCode::accepted;
  reply.abi_major = kAbiMajor;
  reply.abi_minor = session->plan->negotiated.abi_minor;
  reply.features_accepted = session->plan->negotiated.features;
  const GeometryLimits& limits = admission_.limits().geometry;
  reply.max_slot_count = limits.max_slot_count;
  reply.max_slot_bytes = limits.max_slot_bytes;
  reply.max_channel_bytes = limits.max_channel_bytes;
  write_geometry(reply, session->plan->geometry);
  write_text(reply.backend, services_.device.properties().backend);
  const std::array<int, 3> descriptors{session->memory.get(), session->doorbell.get(),
                                       wake.read_end.get()};
  // Before the sending: if that fails the session ends as any offered one does. The pin worker has
  // reported already, so that nothing would end a doomed one.
  step(*session, SessionState::offered);
  session->deadline_ns = now_ns + attach_timeout_ns_;
  if (!send_packet(session->socket, message_bytes(reply), descriptors)) {
    let_go(*session);
  }
}

void SessionTable::on_mapped(Session& session) {
  step(session, SessionState::preparing);
  services_.pin_worker.prepare(session.id, std::move(session.memory), session.plan->geometry,
                               session.plan->negotiated.features);
}

void SessionTable::on_prepared(StorePrepared report) {
  Session* session = find(report.channel);
  if (session == nullptr) {
    return;
  }
  if (!report.warning.empty()) {
    services_.log.warn("channel {}: {}", key_of(session->id), report.warning);
  }
  if (const auto* refusal = std::get_if<StoreRefusal>(&report.outcome)) {
    if (session->state == SessionState::doomed) {
      finish_return(*session);
    } else {
      refuse(*session, refusal->pinning ? AttachCode::pinning_failed : AttachCode::memory_refused,
             refusal->text);
    }
    return;
  }
  session->store = std::move(std::get<ChannelStore>(report.outcome));
  if (session->state == SessionState::doomed) {
    let_go(*session);
    return;
  }
  ChannelSetup setup;
  setup.id = session->id;
  setup.view = session->store->view();
  setup.pipelines = session->plan->pipelines;
  setup.pinning = session->store->pinning;
  setup.doorbell = session->doorbell.get();
  setup.wake = session->wake.get();
  step(*session, SessionState::open);
  services_.engine.add(std::make_unique<Channel>(std::move(setup)));
  services_.log.info("channel {}: pid {} attached: {} slots, {}, '{}'", key_of(session->id),
                     session->peer.pid, session->plan->geometry.slot_count,
                     format_bytes(session->plan->geometry.total_bytes),
                     session->plan->pipelines.front().text());
  if (!send_packet(session->socket, message_bytes(make_message<ReadyNotice>(MessageType::ready)))) {
    close(*session, CloseReason::none, {});
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
  finish_return(*session);
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
  services_.poll.remove(session->doorbell.get());
  session->doorbell.reset();
  session->wake.reset();
  step(*session, SessionState::returning);
  services_.pin_worker.give_back(session->id, std::move(*session->store));
  session->store.reset();
}

void SessionTable::check_deadlines(std::uint64_t now_ns) {
  for (auto& [id, session] : sessions_) {
    if (session.deadline_ns == 0 || now_ns < session.deadline_ns) {
      continue;
    }
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
    auto reply = make_message<AttachReply>(MessageType::attach_reply);
    reply.code = code;
    reply.abi_major = kAbiMajor;
    reply.abi_minor = kAbiMinor;
    const GeometryLimits& limits = admission_.limits().geometry;
    reply.max_slot_count = limits.max_slot_count;
    reply.max_slot_bytes = limits.max_slot_bytes;
    reply.max_channel_bytes = limits.max_channel_bytes;
    write_text(reply.text, text);
    static_cast<void>(send_packet(session.socket, message_bytes(reply)));
  }
  session.socket.reset();
  return_room(session);
  step(session, SessionState::gone);
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
  session.socket.reset();
  switch (session.state) {
    case SessionState::connected:
    case SessionState::waiting_for_room:
    case SessionState::offered:
      return_room(session);
      step(session, SessionState::gone);
      return;
    case SessionState::allocating:
    case SessionState::preparing:
      // From now on, not from the report on: whoever attaches next waits for this memory.
      admission_.start_return(session.peer.uid, session.granted_bytes);
      step(session, SessionState::doomed);
      return;
    case SessionState::open:
      admission_.start_return(session.peer.uid, session.granted_bytes);
      step(session, SessionState::leaving);
      services_.engine.remove(session.id);
      return;
    case SessionState::doomed:
      step(session, SessionState::returning);
      services_.pin_worker.give_back(session.id, std::move(*session.store));
      session.store.reset();
      return;
    case SessionState::leaving:
    case SessionState::returning:
    case SessionState::gone:
      return;
  }
}

void SessionTable::return_room(Session& session) {
  if (session.granted_bytes != 0) {
    admission_.start_return(session.peer.uid, session.granted_bytes);
    admission_.finish_return(session.granted_bytes);
    session.granted_bytes = 0;
  }
}

void SessionTable::finish_return(Session& session) {
  admission_.finish_return(session.granted_bytes);
  step(session, SessionState::gone);
}

void SessionTable::step(Session& session, SessionState to) {
  assert(may_step(session.state, to));
  session.state = to;
  session.deadline_ns = 0;
  any_gone_ = any_gone_ || to == SessionState::gone;
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

std::uint64_t SessionTable::next_deadline_ns() const noexcept {
  std::uint64_t next_ns = UINT64_MAX;
  for (const auto& [id, session] : sessions_) {
    if (session.deadline_ns != 0) {
      next_ns = std::min(next_ns, session.deadline_ns);
    }
  }
  return next_ns;
}

Session* SessionTable::find(ChannelId id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() ? nullptr : &found->second;
}

}  // namespace overlap
