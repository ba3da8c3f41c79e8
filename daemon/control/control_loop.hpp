#pragma once

#include "daemon/control/control_mailbox.hpp"
#include "daemon/control/event_poll.hpp"
#include "daemon/control/listener.hpp"
#include "daemon/control/session_table.hpp"
#include "daemon/engine/engine_thread.hpp"
#include "daemon/source/source_reloader.hpp"

#include <spdlog/logger.h>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace overlap {

struct ControlSettings {
  AdmissionLimits limits;
  StoreSettings store;
  EngineSettings engine;
  IdleSettings idle;
  std::chrono::nanoseconds attach_timeout{2'000'000'000};
  std::chrono::nanoseconds drain_timeout{5'000'000'000};
  /// Why this backend and not another; shown in the status.
  std::string backend_note;
};

/// How the daemon's run ended.
enum class RunOutcome : std::uint8_t {
  /// Asked to stop; everything was given back.
  stopped,
  /// Asked to stop, but a job does not end: leave by `_exit`, the device still works on it.
  stopped_with_work,
  /// The device will never run anything again: leave by `_exit`, touch it no more.
  device_lost,
};

/// Listener, sessions, parked channels' doorbells and signals: everything but the data.
/// Runs on the calling thread.
class ControlLoop final : private EngineListener {
 public:
  /// @param stop_signals a non-blocking signalfd for the signals that ask to stop, and for SIGHUP,
  ///        which every thread has blocked
  /// @param source_kernels what is read again on SIGHUP, in the same registry; null for nothing
  /// @throws std::system_error, or what the engine throws
  ControlLoop(Listener& listener, Device& device, const KernelRegistry& kernels,
              const ControlSettings& settings, int stop_signals, spdlog::logger& log,
              SourceKernels* source_kernels = nullptr);
  ~ControlLoop() override;

  /// Serves until a signal asks it to stop or the device is lost.
  [[nodiscard]] RunOutcome run();

 private:
  // EngineListener, on the engine's thread.
  void on_violation(ChannelId channel, const std::string& why) override;
  void on_parked(ChannelId channel, int doorbell) override;
  void on_unparked(ChannelId channel, int doorbell) override;
  void on_tables_copied(ChannelId channel) override;
  void on_removed(ChannelId channel) override;
  void on_drained() override;
  void on_device_lost(int code) override;

  void handle(const PolledEvent& event);
  void accept_all();
  void read_signals();
  void read_mail();
  void check_deadlines();
  [[nodiscard]] int wait_limit_ms() const;
  void answer_status(const FileDescriptor& socket);
  void reload();
  void begin_drain();
  void finish_drain();

  Listener& listener_;
  Device& device_;
  ControlSettings settings_;
  int stop_signals_;
  spdlog::logger& log_;
  EventPoll poll_;
  ControlMailbox mailbox_;
  std::uint64_t started_ns_;
  std::uint64_t drain_deadline_ns_ = 0;
  /// When to leave although the device still holds somebody's memory.
  std::uint64_t leave_deadline_ns_ = 0;
  std::uint64_t accept_again_ns_ = 0;
  bool draining_ = false;
  bool closing_ = false;
  std::optional<int> lost_code_;
  /// Empty where there is nothing to read again.
  std::optional<SourceReloader> reloader_;
  /// Written by the engine, read by those who would stall it.
  EngineLoad load_;
  // In this order they are made: the engine stops before the sessions unmap what it may look at, and
  // all of them before the pin worker and the reclaimer do.
  PinWorker pin_worker_;
  Reclaimer reclaimer_;
  SessionTable sessions_;
  EngineThread engine_;
};

}  // namespace overlap
