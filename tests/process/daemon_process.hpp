#pragma once

#include "shared/control_protocol.hpp"
#include "tests/process/child_program.hpp"
#include "tests/unit/patience.hpp"

#include <sys/types.h>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace overlap::testing {

/// The real daemon, on the host's processors. Killed with this object unless it was stopped.
class DaemonProcess {
 public:
  /// Starts it and returns at once.
  /// @param options beyond the socket, the backend and the workers
  /// @param errors where its log goes; -1: to `log`
  explicit DaemonProcess(const std::string& socket_path,
                         const std::vector<std::string>& options = {}, int errors = -1);

  [[nodiscard]] pid_t pid() const noexcept { return program_.pid(); }
  [[nodiscard]] std::string log() const { return program_.errors(); }
  [[nodiscard]] bool has_logged(const std::string& text) const;
  /// Waits until it has: a thread of its own writes the log, and what was said may still be on its way.
  [[nodiscard]] bool logs(const std::string& text);

  /// Waits until it answers a client. @return false if it ended or patience did
  [[nodiscard]] bool answers();
  /// Asked as any client would.
  /// @throws std::runtime_error if it does not answer
  [[nodiscard]] StatusReply status() const;
  /// Asks again and again until the answer is yes. @return false if the daemon or patience ended
  template <class Question>
  [[nodiscard]] bool await(Question question) {
    const auto end = std::chrono::steady_clock::now() + kPatience;
    while (!question()) {
      if (program_.exit_code(std::chrono::milliseconds(2)) ||
          std::chrono::steady_clock::now() >= end) {
        return false;
      }
    }
    return true;
  }
  /// Waits for as many attached producers, and for as many jobs beyond those that are done now.
  [[nodiscard]] bool serves(std::uint32_t producers, std::uint64_t more_jobs);

  void send_signal(int number) const { program_.send_signal(number); }
  /// @return as `ChildProgram::exit_code`
  std::optional<int> exit_code() { return program_.exit_code(); }
  /// Asks it to stop, as systemd does.
  std::optional<int> stop();
  /// As the kernel does when memory runs out.
  void kill();

  /// Of the process: open descriptors.
  [[nodiscard]] std::size_t descriptor_count() const;
  /// Whether the process has a file mapped whose name holds this text.
  [[nodiscard]] bool has_mapped(const std::string& text) const;

 private:
  std::string socket_path_;
  ChildProgram program_;
};

}  // namespace overlap::testing
