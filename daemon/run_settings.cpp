#include "daemon/run_settings.hpp"

#include <thread>

namespace overlap {
namespace {

AdmissionLimits admission_limits(const Options& options) {
  AdmissionLimits limits;
  limits.geometry = {options.max_slots, options.max_slot_bytes, options.max_slot_bytes,
                     options.max_channel_bytes};
  limits.max_pinned_bytes = options.max_pinned_bytes;
  limits.max_channels = options.max_channels;
  limits.max_channels_per_uid = options.max_channels_per_uid;
  limits.share = {options.max_priority, options.max_weight};
  for (const std::string& user : options.allow_users) {
    const auto uid = find_user(user);
    if (!uid) {
      throw SettingsError("allow-users names '" + user + "', and there is no such user");
    }
    limits.allowed_users.push_back(*uid);
  }
  for (const std::string& group : options.allow_groups) {
    const auto gid = find_group(group);
    if (!gid) {
      throw SettingsError("allow-groups names '" + group + "', and there is no such group");
    }
    limits.allowed_groups.push_back(*gid);
  }
  return limits;
}

std::optional<Path> forced_path(Options::PathRule rule) noexcept {
  switch (rule) {
    case Options::PathRule::automatic:
      break;
    case Options::PathRule::copy:
      return Path::copy;
    case Options::PathRule::mapped:
      return Path::mapped;
    case Options::PathRule::gather:
      return Path::gather;
  }
  return std::nullopt;
}

std::optional<std::chrono::nanoseconds> idle_spin(const Options& options) {
  switch (options.wait) {
    case Options::Wait::spin:
      return std::nullopt;
    case Options::Wait::sleep:
      return std::chrono::nanoseconds(0);
    case Options::Wait::adaptive:
      break;
  }
  return options.idle_spin.value_or(default_idle_spin(std::thread::hardware_concurrency()));
}

}  // namespace

ControlSettings control_settings(const Options& options) {
  ControlSettings settings;
  settings.limits = admission_limits(options);
  settings.store = {options.pin_chunk_bytes, options.pin_gap, options.reclaim_after,
                    options.require_pinned};
  settings.engine.lane_count = options.lanes.value_or(0);
  settings.engine.depth = options.depth.value_or(0);
  settings.engine.lane_kind =
      options.lane_kind == Options::LaneKind::three ? LaneKind::three : LaneKind::single;
  settings.engine.max_batch_jobs = options.batch_max_jobs;
  settings.engine.max_batch_bytes = options.batch_max_bytes;
  settings.engine.max_batch_wait_ns = static_cast<std::uint64_t>(options.batch_max_wait.count());
  settings.engine.max_ahead_ns = static_cast<std::uint64_t>(options.ahead_max.count());
  settings.engine.path = {forced_path(options.path), options.copy_from_job_bytes,
                          options.copy_from_batch_bytes, options.copy_from_bytes_a_copy};
  settings.idle.spin = idle_spin(options);
  if (options.wait == Options::Wait::spin) {
    // A parked channel's first job pays for two wake-ups: whoever asks to spin does not want that.
    settings.idle.park_after = std::chrono::seconds(10);
  }
  settings.attach_timeout = options.attach_timeout;
  settings.drain_timeout = options.drain_timeout;
  return settings;
}

BackendRequest backend_request(const Options& options) noexcept {
  switch (options.backend) {
    case Options::Backend::automatic:
      return BackendRequest::automatic;
    case Options::Backend::cuda:
      return BackendRequest::cuda;
    case Options::Backend::host:
      break;
  }
  return BackendRequest::host;
}

LogSettings log_settings(const Options& options) {
  LogSettings settings;
  settings.file = options.log_file;
  switch (options.log_level) {
    case Options::LogLevel::trace:
      settings.level = spdlog::level::trace;
      break;
    case Options::LogLevel::debug:
      settings.level = spdlog::level::debug;
      break;
    case Options::LogLevel::info:
      settings.level = spdlog::level::info;
      break;
    case Options::LogLevel::warning:
      settings.level = spdlog::level::warn;
      break;
    case Options::LogLevel::error:
      settings.level = spdlog::level::err;
      break;
    case Options::LogLevel::off:
      settings.level = spdlog::level::off;
      break;
  }
  return settings;
}

}  // namespace overlap
