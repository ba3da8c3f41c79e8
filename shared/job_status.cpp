#include "shared/job_status.hpp"

namespace overlap {

std::string_view status_text(JobStatus status) noexcept {
  switch (status) {
    case JobStatus::ok:
      return "done";
    case JobStatus::input_size_refused:
      return "the input's size does not fit the pipeline";
    case JobStatus::output_too_small:
      return "the result needs more than the slot's output area";
    case JobStatus::request_refused:
      return "the daemon does not know this opcode, flag or pipeline index";
    case JobStatus::deadline_passed:
      return "the deadline had passed before the job was issued";
    case JobStatus::cancelled:
      return "cancelled before it was issued";
    case JobStatus::kernel_failed:
      return "the kernel or a copy failed on the device";
    case JobStatus::device_lost:
      return "the job was alone on the device in two daemons that died";
    case JobStatus::state_lost:
      return "the history of a stateful kernel was lost with the daemon";
  }
  return "unknown status";
}

std::string_view close_reason_text(CloseReason reason) noexcept {
  switch (reason) {
    case CloseReason::none:
      return "the connection closed without a reason: the daemon died or was killed";
    case CloseReason::violation:
      return "the producer broke the rules of the rings";
    case CloseReason::limit:
      return "a limit of the daemon's configuration was reached";
    case CloseReason::drain:
      return "the daemon was stopped";
  }
  return "unknown reason";
}

std::string_view attach_code_text(AttachCode code) noexcept {
  switch (code) {
    case AttachCode::accepted:
      return "accepted";
    case AttachCode::malformed_request:
      return "malformed request";
    case AttachCode::version_mismatch:
      return "version mismatch";
    case AttachCode::platform_mismatch:
      return "platform mismatch";
    case AttachCode::feature_missing:
      return "feature missing";
    case AttachCode::geometry_refused:
      return "geometry refused";
    case AttachCode::pipeline_refused:
      return "pipeline refused";
    case AttachCode::not_permitted:
      return "not permitted";
    case AttachCode::daemon_full:
      return "daemon full";
    case AttachCode::memory_refused:
      return "memory refused";
    case AttachCode::pinning_failed:
      return "pinning failed";
    case AttachCode::stopping:
      return "daemon stopping";
    case AttachCode::timed_out:
      return "timed out";
  }
  return "unknown code";
}

}  // namespace overlap
