// In a build without libsystemd.
#include "daemon/service/service_notice.hpp"

namespace overlap {

bool can_notify_service_manager() noexcept { return false; }
void notify_ready(const std::string& /*status*/) {}
void notify_stopping() {}

}  // namespace overlap
