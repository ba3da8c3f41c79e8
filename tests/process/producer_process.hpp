#pragma once

#include "tests/process/child_program.hpp"

#include <cstdint>
#include <string>

namespace overlap::testing {

/// `process_producer` on the other side of two pipes: one line a command, one line an answer. Killed
/// with this object. Restricted: one thread.
class ProducerProcess {
 public:
  /// @param slot_bytes of the largest payload
  ProducerProcess(const std::string& socket_path, std::uint32_t slot_count,
                  std::uint64_t slot_bytes);

  [[nodiscard]] pid_t pid() const noexcept { return program_.pid(); }
  /// Gives a command.
  void say(const std::string& line);
  /// @return the next line it writes; "silent" if none comes, "gone" if none can come
  [[nodiscard]] std::string hear();
  [[nodiscard]] std::string ask(const std::string& line) {
    say(line);
    return hear();
  }
  /// As the kernel does when memory runs out.
  void kill();
  /// Lets it leave, which it does on its own when nothing can be said to it any more.
  std::optional<int> leave();

 private:
  ProducerProcess(const std::string& socket_path, std::uint32_t slot_count,
                  std::uint64_t slot_bytes, Pipe commands, Pipe answers);

  ChildProgram program_;
  FileDescriptor commands_;
  FileDescriptor answers_;
  std::string unread_;
};

}  // namespace overlap::testing
