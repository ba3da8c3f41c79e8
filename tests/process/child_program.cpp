#include "tests/process/child_program.hpp"

#include <poll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fcntl.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <filesystem>
#include <string_view>
#include <system_error>
#include <utility>

namespace overlap::testing {
namespace {

[[noreturn]] void throw_errno(const char* what) {
  throw std::system_error(errno, std::generic_category(), what);
}

FileDescriptor make_memory() {
  FileDescriptor memory(::memfd_create("what a program writes", MFD_CLOEXEC));
  if (!memory) {
    throw_errno("memfd_create");
  }
  return memory;
}

/// Its own place in the file: the program's moves as it writes.
std::string read_all(const FileDescriptor& memory) {
  struct stat status {};
  if (!memory || ::fstat(memory.get(), &status) != 0) {
    return {};
  }
  std::string text(static_cast<std::size_t>(status.st_size), '\0');
  const ssize_t got = ::pread(memory.get(), text.data(), text.size(), 0);
  text.resize(got < 0 ? 0 : static_cast<std::size_t>(got));
  return text;
}

std::vector<std::string> changed_environment(const std::vector<std::string>& changes) {
  const auto name_of = [](std::string_view entry) { return entry.substr(0, entry.find('=')); };
  std::vector<std::string> entries;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const bool changed = std::any_of(changes.begin(), changes.end(), [&](const auto& change) {
      return name_of(change) == name_of(*entry);
    });
    if (!changed) {
      entries.emplace_back(*entry);
    }
  }
  std::copy_if(changes.begin(), changes.end(), std::back_inserter(entries),
               [](const std::string& change) { return change.find('=') != std::string::npos; });
  return entries;
}

std::vector<char*> pointers_to(std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (std::string& text : texts) {
    pointers.push_back(text.data());
  }
  pointers.push_back(nullptr);
  return pointers;
}

}  // namespace

ChildProgram::ChildProgram(const ProgramStart& start) {
  const FileDescriptor nothing(::open("/dev/null", O_RDONLY | O_CLOEXEC));
  output_ = start.output < 0 ? make_memory() : FileDescriptor();
  errors_ = start.errors < 0 ? make_memory() : FileDescriptor();
  const std::array<int, 3> streams{start.input < 0 ? nothing.get() : start.input,
                                   start.output < 0 ? output_.get() : start.output,
                                   start.errors < 0 ? errors_.get() : start.errors};
  std::vector<std::string> command = start.command;
  std::vector<std::string> environment = changed_environment(start.environment);
  const std::vector<char*> arguments = pointers_to(command);
  const std::vector<char*> entries = pointers_to(environment);
  pid_ = ::fork();
  if (pid_ < 0) {
    throw_errno("fork");
  }
  if (pid_ == 0) {
    // A test that is killed leaves nobody behind.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Whatever the test does about it.
    std::signal(SIGPIPE, SIG_DFL);
    for (int stream = 0; stream < 3; ++stream) {
      ::dup2(streams[static_cast<std::size_t>(stream)], stream);
    }
    ::execvpe(arguments.front(), arguments.data(), entries.data());
    ::_exit(127);
  }
  end_ = FileDescriptor(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!end_) {
    throw_errno("pidfd_open");
  }
}

ChildProgram::ChildProgram(ChildProgram&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      end_(std::move(other.end_)),
      output_(std::move(other.output_)),
      errors_(std::move(other.errors_)),
      exit_code_(other.exit_code_) {}

ChildProgram::~ChildProgram() {
  if (pid_ > 0 && !exit_code_) {
    ::kill(pid_, SIGKILL);
    static_cast<void>(exit_code());
  }
}

void ChildProgram::send_signal(int number) const {
  if (!exit_code_) {
    ::kill(pid_, number);
  }
}

std::optional<int> ChildProgram::exit_code(std::chrono::milliseconds limit) {
  if (exit_code_) {
    return exit_code_;
  }
  pollfd ended{end_.get(), POLLIN, 0};
  if (::poll(&ended, 1, static_cast<int>(limit.count())) != 1) {
    return std::nullopt;
  }
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) {
    throw_errno("waitpid");
  }
  exit_code_ = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return exit_code_;
}

std::string ChildProgram::output() const { return read_all(output_); }
std::string ChildProgram::errors() const { return read_all(errors_); }

Pipe::Pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw_errno("pipe2");
  }
  reader = FileDescriptor(ends[0]);
  writer = FileDescriptor(ends[1]);
}

std::string program_path(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

}  // namespace overlap::testing
