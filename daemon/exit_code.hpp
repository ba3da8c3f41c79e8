#pragma once

namespace overlap {

/// How `overlapd` leaves; systemd's `RestartPreventExitStatus=` and people's scripts rely on it.
enum class ExitCode : int {
  ok = 0,
  failed = 1,
  /// A setting is wrong: starting again will not help (EX_CONFIG).
  configuration = 78,
  /// The socket's place is taken or cannot be written.
  no_socket = 3,
  /// The GPU that was asked for is not there.
  no_device = 4,
  /// The GPU was lost while running: start again.
  device_lost = 70,
};

}  // namespace overlap
