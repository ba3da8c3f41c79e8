#pragma once

#include "shared/file_descriptor.hpp"

#include <sys/types.h>
#include <chrono>
#include <string>
#include <vector>

namespace overlap::bench {

/// A program that was started and that is stopped with this object. Its standard input and output are
/// pipes of lines. Move-only. Restricted: one thread.
class ChildProcess {
 public:
  /// @param command the program, looked up in the PATH if it has no slash, and its arguments
  /// @throws std::system_error
  explicit ChildProcess(const std::vector<std::string>& command);
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;
  /// Asks it to end and waits.
  ~ChildProcess();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// Whether it has ended by itself. It is still to be stopped.
  [[nodiscard]] bool has_ended() const noexcept;
  /// @throws std::runtime_error if it has gone
  void write_line(const std::string& line);
  /// @throws std::runtime_error if it has gone or says nothing in time
  /// @throws Interrupted
  [[nodiscard]] std::string read_line(std::chrono::milliseconds limit);
  /// Closes its input, sends SIGTERM and waits; a process that does not end within ten seconds is
  /// killed.
  /// @return the exit code; 128 + signal if a signal ended it
  int stop();

 private:
  pid_t pid_ = -1;
  FileDescriptor input_;
  FileDescriptor output_;
  std::string unread_;
};

/// User and system time that a process has used.
/// @throws std::runtime_error if there is no such process
[[nodiscard]] std::chrono::duration<double> processor_time(pid_t pid);

/// A program of this build, beside the running one.
[[nodiscard]] std::string program_path(const std::string& name);

}  // namespace overlap::bench
