#pragma once

#include "daemon/control/admission.hpp"
#include "daemon/control/event_poll.hpp"
#include "daemon/control/pin_worker.hpp"
#include "daemon/control/session.hpp"
#include "daemon/engine/engine_thread.hpp"

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <map>
#include <span>
#include <string>

namespace overlap {

/// What sessions are served with. Everything outlives the table.
struct SessionServices {
  EventPoll& poll;
  Device& device;
  const KernelRegistry& kernels;
  PinWorker& pin_worker;
  EngineThread& engine;
  spdlog::logger& log;
};

/// The connections and their way from an attach request to an open channel and back.
/// Restricted: the control thread.
class SessionTable {
 public:
  SessionTable(const SessionServices& services, AdmissionLimits limits,
               std::chrono::nanoseconds attach_timeout);

  /// Takes a new connection in.
  void open(FileDescriptor socket, const PeerIdentity& peer, std::uint64_t now_ns);
  /// Reads a packet that is none of an attach's, or moves the attach on.
  /// @return the connection that asks for the daemon's status, or null
  [[nodiscard]] const FileDescriptor* on_readable(std::uint32_t key, std::uint64_t now_ns);
  void on_report(PinReport report, std::uint64_t now_ns);
  void on_violation(ChannelId channel, const std::string& why);
  /// The engine has let go of a channel.
  void on_removed(ChannelId channel);
  void check_deadlines(std::uint64_t now_ns);

  /// New attaches are told that the daemon is stopping.
  void refuse_from_now_on() noexcept { refusing_ = true; }
  /// Ends every session with a reason.
  void close_all(CloseReason reason, const std::string& text);
  /// Drops the sessions that are over and offers their room to those who wait for it.
  void forget_gone(std::uint64_t now_ns);

  [[nodiscard]] bool empty() const noexcept { return sessions_.empty(); }
  [[nodiscard]] std::size_t size() const noexcept { return sessions_.size(); }
  [[nodiscard]] const Admission& admission() const noexcept { return admission_; }
  /// The nearest deadline, CLOCK_MONOTONIC; UINT64_MAX if there is none.
  [[nodiscard]] std::uint64_t next_deadline_ns() const noexcept;

 private:
  void on_attach_request(Session& session, const AttachRequest& request, std::uint64_t now_ns);
  void request_room(Session& session, std::uint64_t now_ns);
  void on_allocated(StoreAllocated report, std::uint64_t now_ns);
  void on_mapped(Session& session);
  void on_prepared(StorePrepared report);
  void on_given_back(const StoreGivenBack& report);

  /// Says why not and ends a session that has no channel yet.
  void refuse(Session& session, AttachCode code, const std::string& text);
  /// Ends a session; `none` means that its producer has gone by itself.
  void close(Session& session, CloseReason reason, const std::string& text);
  /// Closes the socket and moves the session on towards `gone`.
  void let_go(Session& session);
  /// Takes what was never pinned out of the books.
  void return_room(Session& session);
  /// The memory of an ended session is back.
  void finish_return(Session& session);
  void step(Session& session, SessionState to);
  [[nodiscard]] Session* find(ChannelId id);

  SessionServices services_;
  Admission admission_;
  std::uint64_t attach_timeout_ns_;
  std::map<ChannelId, Session> sessions_;
  std::uint32_t last_id_ = 0;
  bool refusing_ = false;
  bool any_gone_ = false;
};

}  // namespace overlap
