#include "tests/process/daemon_process.hpp"

#include "tests/unit/raw_client.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <stdexcept>

namespace overlap::testing {
namespace {

ProgramStart daemon_start(const std::string& socket_path, const std::vector<std::string>& options,
                          int errors) {
  ProgramStart start;
  start.command = {program_path("overlapd"), "--socket", socket_path, "--backend", "host"};
  start.command.insert(start.command.end(), options.begin(), options.end());
  start.errors = errors;
  return start;
}

std::string proc_path(pid_t pid, const char* name) {
  return "/proc/" + std::to_string(pid) + "/" + name;
}

}  // namespace

DaemonProcess::DaemonProcess(const std::string& socket_path,
                             const std::vector<std::string>& options, int errors)
    : socket_path_(socket_path), program_(daemon_start(socket_path, options, errors)) {}

bool DaemonProcess::has_logged(const std::string& text) const {
  return log().find(text) != std::string::npos;
}

bool DaemonProcess::logs(const std::string& text) {
  return await([&] { return has_logged(text); });
}

bool DaemonProcess::answers() {
  return await([this] {
    try {
      return status().pid == static_cast<std::uint32_t>(pid());
    } catch (const std::runtime_error&) {
      return false;
    }
  });
}

StatusReply DaemonProcess::status() const { return RawClient(socket_path_).ask_status(); }

bool DaemonProcess::serves(std::uint32_t producers, std::uint64_t more_jobs) {
  const std::uint64_t done = status().jobs_done;
  return await([&] {
    const StatusReply now = status();
    return now.channel_count == producers && now.jobs_done >= done + more_jobs;
  });
}

std::optional<int> DaemonProcess::stop() {
  program_.send_signal(SIGTERM);
  return program_.exit_code();
}

void DaemonProcess::kill() {
  program_.send_signal(SIGKILL);
  static_cast<void>(program_.exit_code());
}

std::size_t DaemonProcess::descriptor_count() const {
  const std::filesystem::directory_iterator entries(proc_path(pid(), "fd"));
  return static_cast<std::size_t>(std::distance(begin(entries), end(entries)));
}

bool DaemonProcess::has_mapped(const std::string& text) const {
  std::ifstream maps(proc_path(pid(), "maps"));
  for (std::string line; std::getline(maps, line);) {
    if (line.find(text) != std::string::npos) {
      return true;
    }
  }
  return false;
}

}  // namespace overlap::testing
