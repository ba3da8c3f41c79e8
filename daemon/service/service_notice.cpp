#include "daemon/service/service_notice.hpp"

#include <systemd/sd-daemon.h>

namespace overlap {

bool can_notify_service_manager() noexcept { return true; }

void notify_ready(const std::string& status) {
  // A manager that does not listen is no reason not to serve.
  static_cast<void>(::sd_notify(0, ("READY=1\nSTATUS=" + status).c_str()));
}

void notify_stopping() {
  static_cast<void>(::sd_notify(0, "STOPPING=1\nSTATUS=finishing the jobs at hand"));
}

}  // namespace overlap
