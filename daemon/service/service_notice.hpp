#pragma once

#include <string>

namespace overlap {

/// What the service manager is told. Without one (`$NOTIFY_SOCKET` not set), or in a build without
/// libsystemd, the calls do nothing. Thread safety: any, but not while the environment changes.

/// Whether this build can tell a service manager anything.
[[nodiscard]] bool can_notify_service_manager() noexcept;

/// The socket answers; `status` is the line that `systemctl status` shows.
void notify_ready(const std::string& status);

/// Asked to stop; jobs at hand are being finished.
void notify_stopping();

}  // namespace overlap
