// The way of a session from its request to an open channel.

#include "daemon/control/session_table.hpp"
#include "daemon/engine/job_parameters.hpp"
#include "shared/byte_size.hpp"
#include "shared/control_socket.hpp"

#include <array>
#include <memory>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

namespace overlap {
namespace {

std::uint32_t key_of(ChannelId id) noexcept { return static_cast<std::uint32_t>(id); }

std::string milliseconds(std::uint64_t ns) { return std::to_string(ns / 1'000'000) + " ms"; }

/// For the log; nothing where the producer asked for nothing.
std::string share_text(const ChannelShare& share) {
  std::string text;
  if (share.priority != ChannelPriority::normal) {
    text += ", priority " + std::string(channel_priority_text(share.priority));
  }
  if (share.weight != kDefaultChannelWeight) {
    text += ", weight " + std::to_string(share.weight);
  }
  return text;
}

/// Which parameters jobs may bring, by pipeline.
void write_job_parameters(AttachReply& reply, const std::vector<Pipeline>& pipelines) {
  for (std::size_t i = 0; i < pipelines.size(); ++i) {
    const Kernel& first = *pipelines[i].stages().front().kernel;
    JobParameterEntry* entry = reply.job_parameters[i];
    for (const std::size_t index : per_job_parameters(first)) {
      const Parameter& parameter = first.parameters()[index];
      // A name that does not fit cannot be given; its place is kept.
      if (parameter.name.size() <= sizeof entry->name) {
        parameter.name.copy(entry->name, sizeof entry->name);
      }
      entry->type = static_cast<std::uint8_t>(parameter.type);
      ++entry;
    }
  }
}

}  // namespace

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
  const AdmissionLimits& limits = admission_.limits();
  auto planned = plan_attach(request, services_.kernels, limits.geometry,
                             services_.device.properties().backend == "cuda", limits.share);
  if (const auto* refusal = std::get_if<AttachRefusal>(&planned)) {
    refuse(session, refusal->code, refusal->text);
    return;
  }
  session.plan = std::move(std::get<AttachPlan>(planned));
  request_room(session, now_ns);
}

void SessionTable::request_room(Session& session, std::uint64_t now_ns) {
  const std::uint64_t bytes = session.plan->geometry.total_bytes + session.plan->kept_bytes;
  const Admission::Decision decision = admission_.grant(session.peer, bytes);
  switch (decision.verdict) {
    case Admission::Verdict::granted:
      session.granted_bytes = bytes;
      step(session, SessionState::allocating);
      // Without a GPU everything comes out of the same memory.
      services_.pin_worker.allocate(
          session.id, session.plan->geometry, session.plan->pipelines,
          services_.device.properties().works_in_place ? session.plan->kept_bytes : 0);
      return;
    case Admission::Verdict::full_for_now:
      if (session.state == SessionState::connected) {
        step(session, SessionState::waiting_for_room);
        start_deadline(session, now_ns);
        services_.reclaimer.hurry();
      }
      return;
    case Admission::Verdict::full:
    case Admission::Verdict::not_permitted:
      refuse(session, AttachCode::daemon_full, decision.text);
      return;
  }
}

void SessionTable::on_allocated(StoreAllocated report, std::uint64_t now_ns) {
  Session* session = find(report.channel);
  if (session == nullptr) {
    return;
  }
  const auto* refusal = std::get_if<StoreRefusal>(&report.outcome);
  if (refusal == nullptr) {
    session->memory = std::move(std::get<FileDescriptor>(report.outcome));
  }
  if (session->state == SessionState::doomed) {
    end(*session);
    return;
  }
  if (refusal != nullptr) {
    // What others left behind may be what is missing.
    services_.reclaimer.hurry();
    refuse(*session, refusal->code, refusal->text);
    return;
  }
  services_.log.debug("channel {}: {} allocated in {}", key_of(session->id),
                      format_bytes(session->plan->geometry.total_bytes),
                      milliseconds(report.took_ns));
  FileDescriptor wake_read_end;
  if (!make_bells(*session, wake_read_end)) {
    return;
  }
  AttachReply reply = make_reply(AttachCode::accepted);
  reply.abi_minor = session->plan->negotiated.abi_minor;
  reply.features_accepted = session->plan->negotiated.features;
  write_geometry(reply, session->plan->geometry);
  reply.stateful_pipelines = session->plan->stateful_pipelines;
  write_job_parameters(reply, session->plan->pipelines);
  write_text(reply.backend, services_.device.properties().backend);
  const std::array<int, 3> descriptors{session->memory.get(), session->doorbell.get(),
                                       wake_read_end.get()};
  // Before the sending: if that fails the session ends as any offered one does.
  step(*session, SessionState::offered);
  start_deadline(*session, now_ns);
  if (!send_packet(session->socket, message_bytes(reply), descriptors)) {
    let_go(*session);
  }
}

/// @return false if the session was refused instead
bool SessionTable::make_bells(Session& session, FileDescriptor& wake_read_end) {
  try {
    session.doorbell = make_eventfd();
    WakePipe wake = make_wake_pipe();
    session.wake = std::move(wake.write_end);
    wake_read_end = std::move(wake.read_end);
    // Now, while it can still be refused: parking must not fail for want of a watch.
    const std::error_code unwatched = services_.poll.add_disarmed(
        session.doorbell.get(), EventSource::doorbell, key_of(session.id));
    if (unwatched) {
      throw std::system_error(unwatched, "epoll_ctl");
    }
  } catch (const std::system_error& error) {
    refuse(session, AttachCode::memory_refused,
           std::string("the daemon cannot make a doorbell (") + error.what() +
               "); try again once a producer has left, or raise LimitNOFILE");
    return false;
  }
  return true;
}

AttachReply SessionTable::make_reply(AttachCode code) const {
  auto reply = make_message<AttachReply>(MessageType::attach_reply);
  reply.code = code;
  reply.abi_major = kAbiMajor;
  reply.abi_minor = kAbiMinor;
  const GeometryLimits& limits = admission_.limits().geometry;
  reply.max_slot_count = limits.max_slot_count;
  reply.max_slot_bytes = limits.max_slot_bytes;
  reply.max_channel_bytes = limits.max_channel_bytes;
  return reply;
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
  const auto* refusal = std::get_if<StoreRefusal>(&report.outcome);
  if (refusal == nullptr) {
    session->store = std::move(std::get<ChannelStore>(report.outcome));
  }
  if (session->state == SessionState::doomed) {
    end(*session);
    return;
  }
  if (refusal != nullptr) {
    refuse(*session, refusal->code, refusal->text);
    return;
  }
  services_.log.debug("channel {}: touched in {}, pinned in {}", key_of(session->id),
                      milliseconds(report.times.touch_ns), milliseconds(report.times.pin_ns));
  open_channel(*session);
}

void SessionTable::open_channel(Session& session) {
  const AttachPlan& plan = *session.plan;
  ChannelSetup setup;
  setup.id = session.id;
  setup.view = session.store->view();
  setup.pipelines = plan.pipelines;
  setup.pinning = session.store->pinning;
  setup.pinned = !session.store->pinned.empty();
  setup.doorbell = session.doorbell.get();
  setup.wake = session.wake.get();
  setup.priority = plan.share.priority;
  setup.weight = plan.share.weight;
  setup.tables = plan.tables;
  setup.history_lost = plan.history_lost;
  step(session, SessionState::open);
  services_.engine.add(std::make_unique<Channel>(std::move(setup)));
  services_.log.info("channel {}: pid {} attached: {} slots, {}, '{}'{}", key_of(session.id),
                     session.peer.pid, plan.geometry.slot_count,
                     format_bytes(plan.geometry.total_bytes), plan.pipelines.front().text(),
                     share_text(plan.share));
  if (plan.tables.empty()) {
    say_ready(session);
  }
}

void SessionTable::on_tables_copied(ChannelId channel) {
  Session* session = find(channel);
  // It may have gone meanwhile.
  if (session != nullptr && session->state == SessionState::open) {
    say_ready(*session);
  }
}

void SessionTable::say_ready(Session& session) {
  if (!send_packet(session.socket, message_bytes(make_message<ReadyNotice>(MessageType::ready)))) {
    close(session, CloseReason::none, {});
  }
}

}  // namespace overlap
