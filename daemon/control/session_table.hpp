#pragma once

#include "daemon/control/admission.hpp"
#include "daemon/control/event_poll.hpp"
#include "daemon/control/pin_worker.hpp"
#include "daemon/control/reclaimer.hpp"
#include "daemon/control/session.hpp"
#include "daemon/engine/engine_thread.hpp"

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace overlap {

/// What sessions are served with. Everything outlives the table.
struct SessionServices {
  EventPoll& poll;
  Device& device;
  const KernelRegistry& kernels;
  PinWorker& pin_worker;
  Reclaimer& reclaimer;
  EngineThread& engine;
  spdlog::logger& log;
};

/// The connections and their way from an attach request to an open channel and back.
/// Restricted: the control thread.
class SessionTable {
 public:
  SessionTable(const SessionServices& services, AdmissionLimits limits,
               std::chrono::nanoseconds attach_timeout);

  /// Takes a new connection in, or tells it why not: too many of all or of its user's are open.
  void open(FileDescriptor socket, const PeerIdentity& peer, std::uint64_t now_ns);
  /// Reads a packet that is none of an attach's, or moves the attach on.
  /// @return the connection that asks for the daemon's status, or null
  [[nodiscard]] const FileDescriptor* on_readable(std::uint32_t key, std::uint64_t now_ns);
  void on_report(PinReport report, std::uint64_t now_ns);
  void on_violation(ChannelId channel, const std::string& why);
  /// The engine has let go of a channel.
  void on_tables_copied(ChannelId channel);
  void on_removed(ChannelId channel);
  void check_deadlines(std::uint64_t now_ns);

  /// New attaches are told that the daemon is stopping.
  void refuse_from_now_on() noexcept { refusing_ = true; }
  /// Ends every session with a reason.
  void close_all(CloseReason reason, const std::string& text);
  /// Drops the sessions that are over and offers their room to those who wait for it.
  void forget_gone(std::uint64_t now_ns);

  [[nodiscard]] bool empty() const noexcept { return sessions_.empty(); }
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  /// The nearest deadline, CLOCK_MONOTONIC; UINT64_MAX if there is none.
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept {
    return deadlines_.empty() ? UINT64_MAX : deadlines_.begin()->first;
  }

 private:
  /// Why another connection of this user is not taken in; empty if it is.
  [[nodiscard]] std::string why_crowded(uid_t uid) const;

  // The way of an attach, in session_attach.cpp.
  void on_attach_request(Session& session, const AttachRequest& request, std::uint64_t now_ns);
  void request_room(Session& session, std::uint64_t now_ns);
  void on_allocated(StoreAllocated report, std::uint64_t now_ns);
  void on_mapped(Session& session);
  void on_prepared(StorePrepared report);
  void open_channel(Session& session);
  void say_ready(Session& session);
  [[nodiscard]] bool make_bells(Session& session, FileDescriptor& wake_read_end);
  [[nodiscard]] AttachReply make_reply(AttachCode code) const;

  void on_given_back(const StoreGivenBack& report);

  /// Says why not and ends a session that has no channel yet.
  void refuse(Session& session, AttachCode code, const std::string& text);
  /// Ends a session; `none` means that its producer has gone by itself.
  void close(Session& session, CloseReason reason, const std::string& text);
  /// Closes the socket and moves the session on towards `gone`.
  void let_go(Session& session);
  /// Ends a session whose memory nobody else has: sends that to the reclaimer, if there is some.
  void end(Session& session);
  void step(Session& session, SessionState to);
  /// The present state has lasted too long when the time of an attach is over.
  void start_deadline(Session& session, std::uint64_t now_ns);
  void drop_deadline(Session& session);
  void drop_socket(Session& session);
  [[nodiscard]] Session* find(ChannelId id);

  SessionServices services_;
  Admission admission_;
  std::uint64_t attach_timeout_ns_;
  std::map<ChannelId, Session> sessions_;
  /// Of the sessions that have one, the nearest first: idle channels cost nothing here.
  std::set<std::pair<std::uint64_t, ChannelId>> deadlines_;
  /// Open sockets, with a channel or without.
  std::map<uid_t, std::uint32_t> connections_by_uid_;
  std::uint32_t connection_count_ = 0;
  std::uint32_t waiting_count_ = 0;
  std::uint32_t last_id_ = 0;
  bool refusing_ = false;
  bool any_gone_ = false;
};

}  // namespace overlap
