#pragma once

#include "daemon/control/control_loop.hpp"
#include "daemon/device/device_choice.hpp"
#include "daemon/options.hpp"
#include "daemon/telemetry/log.hpp"

#include <stdexcept>

namespace overlap {

/// An option's value names something that is not there: a user or a group.
class SettingsError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The options as the parts of the daemon take them.
/// @throws SettingsError for a user or group that does not exist
[[nodiscard]] ControlSettings control_settings(const Options& options);
[[nodiscard]] BackendRequest backend_request(const Options& options) noexcept;
[[nodiscard]] LogSettings log_settings(const Options& options);

}  // namespace overlap
