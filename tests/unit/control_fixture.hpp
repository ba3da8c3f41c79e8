#pragma once

#include "daemon/control/control_loop.hpp"
#include "shared/control_protocol.hpp"
#include "shared/file_descriptor.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/raw_client.hpp"
#include "tests/unit/shared_device.hpp"

#include <cstddef>
#include <cstdint>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace overlap::testing {

/// The file descriptors that this process has open.
[[nodiscard]] std::size_t open_descriptor_count();

/// Leaves this process as many more descriptors as asked for, as long as it lives.
class DescriptorLimit {
 public:
  explicit DescriptorLimit(std::size_t free_count);
  ~DescriptorLimit();
  DescriptorLimit(const DescriptorLimit&) = delete;
  DescriptorLimit& operator=(const DescriptorLimit&) = delete;

 private:
  std::uint64_t old_limit_ = 0;
  std::vector<FileDescriptor> fillers_;
};

/// Small buffers, no pauses, time limits that no test runs into unless it lowers them.
[[nodiscard]] ControlSettings roomy_settings();

/// A channel of `slot_count` slots of one page in and one out.
[[nodiscard]] GeometryRequest page_slots(std::uint32_t slot_count);
/// The bytes that such a channel takes in the books.
[[nodiscard]] std::uint64_t channel_bytes(const GeometryRequest& request);

/// A log that keeps its lines, from `info` up. Any thread.
class KeptLog {
 public:
  KeptLog();
  [[nodiscard]] spdlog::logger& logger() noexcept { return *logger_; }
  [[nodiscard]] std::string text() const;

 private:
  class Sink;
  std::shared_ptr<Sink> sink_;
  std::unique_ptr<spdlog::logger> logger_;
};

/// Stands in for a signalfd.
class StopRequests {
 public:
  StopRequests();
  /// As one SIGTERM.
  void ask();
  [[nodiscard]] int descriptor() const noexcept { return asked_end_.get(); }

 private:
  FileDescriptor asking_end_;
  FileDescriptor asked_end_;
};

/// The daemon's listener and control loop on a thread of this process.
class RunningDaemon {
 public:
  /// @param stop_signals a signalfd; without one `ask_to_stop` stands in for the signals
  explicit RunningDaemon(Device& device, const ControlSettings& settings = roomy_settings(),
                         int stop_signals = -1);
  /// Asks to stop, twice, and waits for the end.
  ~RunningDaemon();
  RunningDaemon(const RunningDaemon&) = delete;
  RunningDaemon& operator=(const RunningDaemon&) = delete;

  [[nodiscard]] const std::string& socket_path() const noexcept { return path_; }
  [[nodiscard]] std::string log_text() const { return log_.text(); }
  /// As one SIGTERM.
  void ask_to_stop() { stop_requests_.ask(); }
  [[nodiscard]] std::thread::native_handle_type thread() { return thread_.native_handle(); }
  /// How `run` returned. Once.
  /// @throws std::runtime_error if patience ended
  [[nodiscard]] RunOutcome await_end();
  /// Asked as any client would.
  [[nodiscard]] StatusReply status() const;
  /// Waits until no channel and no byte is in the books.
  [[nodiscard]] bool books_are_empty() const;

 private:
  SocketFolder folder_;
  std::string path_;
  StopRequests stop_requests_;
  KeptLog log_;
  Listener listener_;
  ControlLoop loop_;
  std::future<RunOutcome> outcome_;
  std::thread thread_;
};

}  // namespace overlap::testing
