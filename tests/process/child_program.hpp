#pragma once

#include "shared/file_descriptor.hpp"
#include "tests/unit/patience.hpp"

#include <sys/types.h>
#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace overlap::testing {

/// How a program is started.
struct ProgramStart {
  /// A path, or a name to be looked for in PATH, and the arguments.
  std::vector<std::string> command{};
  /// Standard input; -1: nothing to read.
  int input = -1;
  /// Standard output and error; -1: a memory that never blocks, to be read here.
  int output = -1;
  int errors = -1;
  /// `NAME=value` to set, `NAME` to unset.
  std::vector<std::string> environment{};
};

/// A program that was started, and that is killed with this object. Restricted: one thread, and no
/// other thread in this process.
class ChildProgram {
 public:
  /// @throws std::system_error
  explicit ChildProgram(const ProgramStart& start);
  ChildProgram(ChildProgram&& other) noexcept;
  ChildProgram& operator=(ChildProgram&&) = delete;
  ~ChildProgram();

  [[nodiscard]] pid_t pid() const noexcept { return pid_; }
  /// @pre its end was not seen yet
  void send_signal(int number) const;
  /// Waits for its end.
  /// @return the exit code, 128 + signal if a signal ended it, empty if it goes on beyond the limit
  std::optional<int> exit_code(std::chrono::milliseconds limit = kPatience);

  /// What it wrote so far.
  [[nodiscard]] std::string output() const;
  [[nodiscard]] std::string errors() const;

 private:
  pid_t pid_ = -1;
  FileDescriptor end_;
  FileDescriptor output_;
  FileDescriptor errors_;
  std::optional<int> exit_code_;
};

/// A pipe's two ends, not inherited unless they are given to a program.
struct Pipe {
  /// @throws std::system_error
  Pipe();
  FileDescriptor reader;
  FileDescriptor writer;
};

/// A program of this build, beside the running one.
[[nodiscard]] std::string program_path(const std::string& name);

}  // namespace overlap::testing
