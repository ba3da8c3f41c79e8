#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// What the choice of a control socket depends on, so that it can be tested without a process
/// environment. An empty variable counts as one that is not set.
struct SocketEnvironment {
  /// `$RUNTIME_DIRECTORY`: what systemd made for the service, entries separated by `:`.
  std::string runtime_directory;
  /// `$XDG_RUNTIME_DIR`
  std::string xdg_runtime_dir;
  /// `$OVERLAPD_SOCKET`
  std::string overlapd_socket;
  bool is_root = false;
  /// Whether there is a file of any kind at this path.
  std::function<bool(const std::string&)> exists;

  /// The environment of the calling process.
  [[nodiscard]] static SocketEnvironment of_this_process();
};

/// The socket a client should connect to, and every path that was looked at to find it.
struct ClientSocketPath {
  std::string path;
  /// In the order of preference; the last one is `path`.
  std::vector<std::string> tried;
};

/// Where the daemon listens: `option` (`--socket`), else the first entry of `$RUNTIME_DIRECTORY`,
/// else `/run/overlapd/overlapd.sock` for root, else `$XDG_RUNTIME_DIR/overlapd.sock`.
///
/// Thread safety: any.
/// @return empty if none applies: not root, and neither variable is set
[[nodiscard]] std::optional<std::string> daemon_socket_path(
    const std::optional<std::string>& option, const SocketEnvironment& environment);

/// Where a client connects: `option` (`--socket`), else `$OVERLAPD_SOCKET`, else
/// `$XDG_RUNTIME_DIR/overlapd.sock` if it exists, else `/run/overlapd/overlapd.sock`.
///
/// Thread safety: any.
/// @pre environment.exists is set
[[nodiscard]] ClientSocketPath client_socket_path(const std::optional<std::string>& option,
                                                  const SocketEnvironment& environment);

/// The paths that were tried, for an error's text: `/a, /b`.
[[nodiscard]] std::string list_tried(const ClientSocketPath& path);

}  // namespace overlap
