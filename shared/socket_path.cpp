#include "shared/socket_path.hpp"

#include <unistd.h>

#include <cstdlib>

namespace overlap {
namespace {

constexpr std::string_view kSocketName = "overlapd.sock";
constexpr std::string_view kSystemSocket = "/run/overlapd/overlapd.sock";

std::string in_directory(std::string_view directory) {
  std::string path(directory);
  if (path.empty() || path.back() != '/') {
    path += '/';
  }
  return path.append(kSocketName);
}

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

}  // namespace

SocketEnvironment SocketEnvironment::of_this_process() {
  return {
      .runtime_directory = variable("RUNTIME_DIRECTORY"),
      .xdg_runtime_dir = variable("XDG_RUNTIME_DIR"),
      .overlapd_socket = variable("OVERLAPD_SOCKET"),
      .is_root = ::geteuid() == 0,
      .exists = [](const std::string& path) { return ::access(path.c_str(), F_OK) == 0; },
  };
}

std::optional<std::string> daemon_socket_path(const std::optional<std::string>& option,
                                              const SocketEnvironment& environment) {
  if (option) {
    return option;
  }
  const std::string_view runtime_directories = environment.runtime_directory;
  const std::string_view first = runtime_directories.substr(0, runtime_directories.find(':'));
  if (!first.empty()) {
    return in_directory(first);
  }
  if (environment.is_root) {
    return std::string(kSystemSocket);
  }
  if (!environment.xdg_runtime_dir.empty()) {
    return in_directory(environment.xdg_runtime_dir);
  }
  return std::nullopt;
}

ClientSocketPath client_socket_path(const std::optional<std::string>& option,
                                    const SocketEnvironment& environment) {
  if (option) {
    return {.path = *option, .tried = {*option}};
  }
  if (!environment.overlapd_socket.empty()) {
    return {.path = environment.overlapd_socket, .tried = {environment.overlapd_socket}};
  }
  ClientSocketPath result;
  if (!environment.xdg_runtime_dir.empty()) {
    result.path = in_directory(environment.xdg_runtime_dir);
    result.tried.push_back(result.path);
    if (environment.exists(result.path)) {
      return result;
    }
  }
  result.path = kSystemSocket;
  result.tried.push_back(result.path);
  return result;
}

std::string list_tried(const ClientSocketPath& path) {
  std::string text;
  for (const std::string& candidate : path.tried) {
    text += text.empty() ? candidate : ", " + candidate;
  }
  return text;
}

}  // namespace overlap
