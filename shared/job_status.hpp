#pragma once

#include <cstdint>
#include <string_view>

namespace overlap {

/// How a job ended: the `status` of a completion. Values are part of the ABI.
enum class JobStatus : std::uint16_t {
  ok = 0,
  /// The input's size does not fit the pipeline.
  input_size_refused = 1,
  /// The output needs more than the slot's output area; `detail_value` holds KiB, rounded up.
  output_too_small = 2,
  /// An opcode, flag or pipeline index that the daemon does not know.
  request_refused = 3,
  deadline_passed = 4,
  cancelled = 5,
  /// The kernel, its launch or a copy failed; `detail_code` holds the device's error number.
  kernel_failed = 6,
  /// The job was alone on the device in two daemons that died.
  device_lost = 7,
  /// A stateful kernel's history was lost with the daemon.
  state_lost = 8,
};

/// Why the daemon closed a channel, or why a channel ended. Values are part of the protocol.
enum class CloseReason : std::uint32_t {
  none = 0,
  /// The producer broke the rules of the rings.
  violation = 1,
  /// A limit of the configuration.
  limit = 2,
  /// The daemon is stopping in an orderly way.
  drain = 3,
};

/// Why an attach was refused. Values are part of the protocol.
enum class AttachCode : std::uint32_t {
  accepted = 0,
  malformed_request = 1,
  version_mismatch = 2,
  platform_mismatch = 3,
  feature_missing = 4,
  geometry_refused = 5,
  pipeline_refused = 6,
  not_permitted = 7,
  daemon_full = 8,
  memory_refused = 9,
  pinning_failed = 10,
  stopping = 11,
  timed_out = 12,
};

/// A sentence for people; "unknown status" for a number of a later version.
[[nodiscard]] std::string_view status_text(JobStatus status) noexcept;
[[nodiscard]] std::string_view close_reason_text(CloseReason reason) noexcept;
[[nodiscard]] std::string_view attach_code_text(AttachCode code) noexcept;

}  // namespace overlap
