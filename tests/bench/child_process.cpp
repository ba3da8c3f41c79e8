#include "tests/bench/child_process.hpp"

#include "tests/bench/interruption.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <system_error>
#include <thread>
#include <utility>

namespace overlap::bench {
namespace {

constexpr std::chrono::seconds kStopLimit{10};

std::pair<FileDescriptor, FileDescriptor> make_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

std::chrono::duration<double> processor_time_in_ticks(const std::string& stat_file) {
  std::ifstream file(stat_file);
  std::string text;
  if (!std::getline(file, text)) {
    throw std::runtime_error("there is no process of " + stat_file);
  }
  // The name in brackets may hold spaces: fields 14 and 15 are counted from behind it.
  std::istringstream rest(text.substr(text.rfind(')') + 2));
  std::string skipped;
  for (int field = 3; field < 14; ++field) {
    rest >> skipped;
  }
  double user = 0;
  double system = 0;
  rest >> user >> system;
  return std::chrono::duration<double>((user + system) /
                                       static_cast<double>(::sysconf(_SC_CLK_TCK)));
}

}  // namespace

ChildProcess::ChildProcess(const std::vector<std::string>& command) {
  auto [child_in, to_child] = make_pipe();
  auto [from_child, child_out] = make_pipe();
  std::vector<char*> arguments;
  arguments.reserve(command.size() + 1);
  for (const std::string& word : command) {
    arguments.push_back(const_cast<char*>(word.c_str()));
  }
  arguments.push_back(nullptr);
  pid_ = ::fork();
  if (pid_ < 0) {
    throw std::system_error(errno, std::generic_category(), "fork");
  }
  if (pid_ == 0) {
    // A benchmark that is killed leaves nobody behind.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    // Ctrl-C is for the benchmark, which stops its own in their order.
    ::setpgid(0, 0);
    std::signal(SIGPIPE, SIG_DFL);
    ::dup2(child_in.get(), STDIN_FILENO);
    ::dup2(child_out.get(), STDOUT_FILENO);
    ::execvp(arguments.front(), arguments.data());
    ::_exit(127);
  }
  input_ = std::move(to_child);
  output_ = std::move(from_child);
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      input_(std::move(other.input_)),
      output_(std::move(other.output_)),
      unread_(std::move(other.unread_)) {}

ChildProcess::~ChildProcess() { static_cast<void>(stop()); }

void ChildProcess::write_line(const std::string& line) {
  const std::string text = line + "\n";
  if (::write(input_.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size())) {
    throw std::runtime_error("a child process has gone");
  }
}

std::string ChildProcess::read_line(std::chrono::milliseconds limit) {
  while (true) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd readable{output_.get(), POLLIN, 0};
    const int polled = ::poll(&readable, 1, static_cast<int>(limit.count()));
    throw_if_interrupted();
    if (polled != 1) {
      throw std::runtime_error("a child process says nothing");
    }
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(output_.get(), buffer.data(), buffer.size());
    throw_if_interrupted();
    if (got <= 0) {
      throw std::runtime_error("a child process has gone");
    }
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

bool ChildProcess::has_ended() const noexcept {
  siginfo_t info{};
  return pid_ < 0 ||
         (::waitid(P_PID, static_cast<id_t>(pid_), &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
          info.si_pid == pid_);
}

int ChildProcess::stop() {
  if (pid_ < 0) {
    return 0;
  }
  input_ = FileDescriptor();
  ::kill(pid_, SIGTERM);
  const auto give_up = std::chrono::steady_clock::now() + kStopLimit;
  bool killed = false;
  int status = 0;
  while (::waitpid(pid_, &status, WNOHANG) == 0) {
    if (!killed && std::chrono::steady_clock::now() > give_up) {
      ::kill(pid_, SIGKILL);
      killed = true;
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  pid_ = -1;
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

std::chrono::duration<double> processor_time(pid_t pid) {
  // The scheduler's own account is in ns; a tick of `stat` would be a fifth of a percent of 5 s.
  const std::string folder = "/proc/" + std::to_string(pid);
  std::error_code ignored;
  std::uint64_t total_ns = 0;
  bool known = false;
  for (const auto& task : std::filesystem::directory_iterator(folder + "/task", ignored)) {
    std::ifstream file(task.path() / "schedstat");
    std::uint64_t used_ns = 0;
    known = static_cast<bool>(file >> used_ns) || known;
    total_ns += used_ns;
  }
  return known ? std::chrono::duration<double>(std::chrono::nanoseconds(total_ns))
               : processor_time_in_ticks(folder + "/stat");
}

std::string program_path(const std::string& name) {
  return std::filesystem::read_symlink("/proc/self/exe").replace_filename(name).string();
}

}  // namespace overlap::bench
