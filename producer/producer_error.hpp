#pragma once

#include "shared/job_status.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

namespace overlap {

/// Root of everything this library throws. The text says what happened, why, and what to do.
class ProducerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// Where an attach ended.
enum class AttachFailure : std::uint8_t {
  /// There is no file at any of the paths.
  no_socket,
  no_permission,
  /// A socket file that nobody serves.
  not_listening,
  /// Something else than overlapd answers there.
  not_overlapd,
  /// The daemon said no: see `AttachError::code`.
  refused,
  /// The daemon closed the connection in the middle.
  hung_up,
  timed_out,
  /// The channel's memory could not be mapped here.
  memory,
  /// The options cannot be sent: too many pipelines, say.
  bad_options,
  /// The `Producer` was destroyed meanwhile.
  abandoned,
};

/// A path that was looked at, and why it did not do.
struct AttachAttempt {
  std::string path;
  std::string why;
};

/// Everything that an `AttachError` carries.
struct AttachProblem {
  AttachFailure failure{};
  /// The daemon's word, where it gave one; `accepted` otherwise.
  AttachCode code = AttachCode::accepted;
  /// Of the system call that failed, or 0.
  int error_number = 0;
  std::string text;
  std::vector<AttachAttempt> attempts;
};

/// No channel: why not, and every path that was tried.
class AttachError : public ProducerError {
 public:
  explicit AttachError(AttachProblem problem);

  [[nodiscard]] AttachFailure failure() const noexcept { return problem_.failure; }
  /// Empty unless the daemon refused.
  [[nodiscard]] std::optional<AttachCode> code() const noexcept;
  [[nodiscard]] int error_number() const noexcept { return problem_.error_number; }
  [[nodiscard]] const std::vector<AttachAttempt>& attempts() const noexcept {
    return problem_.attempts;
  }
  [[nodiscard]] const AttachProblem& problem() const noexcept { return problem_; }

 private:
  AttachProblem problem_;
};

/// The daemon died or was stopped, and none came back in time (or resuming was switched off).
class DaemonGone : public ProducerError {
 public:
  using ProducerError::ProducerError;
};

/// The daemon ended this channel on purpose; its jobs without a result stay without one.
class ChannelClosed : public ProducerError {
 public:
  ChannelClosed(CloseReason reason, const std::string& text)
      : ProducerError(text), reason_(reason) {}
  [[nodiscard]] CloseReason reason() const noexcept { return reason_; }

 private:
  CloseReason reason_;
};

/// A handle was used in a child of `fork`: the channel stays with the parent.
class ForkedProcess : public ProducerError {
 public:
  ForkedProcess();
};

/// A submission that cannot be sent; nothing of the call was.
class InvalidSubmission : public ProducerError {
 public:
  using ProducerError::ProducerError;
};

/// The daemon did not take a new table: the jobs behind it ran with the table before. The channel goes
/// on.
class TableRefused : public ProducerError {
 public:
  TableRefused(std::uint8_t pipeline_index, std::uint8_t stage_index, const std::string& text)
      : ProducerError(text), pipeline_index_(pipeline_index), stage_index_(stage_index) {}
  [[nodiscard]] std::uint8_t pipeline_index() const noexcept { return pipeline_index_; }
  [[nodiscard]] std::uint8_t stage_index() const noexcept { return stage_index_; }

 private:
  std::uint8_t pipeline_index_;
  std::uint8_t stage_index_;
};

/// There is no such job, or its result was already picked up.
class UnknownJob : public ProducerError {
 public:
  using ProducerError::ProducerError;
};

/// Why a channel ended for good, kept so that every later call can throw it afresh.
struct ChannelFailure {
  enum class Kind : std::uint8_t { gone, closed, refused };
  Kind kind{};
  std::string text;
  CloseReason reason = CloseReason::none;
  AttachProblem problem;

  /// @throws DaemonGone, ChannelClosed or AttachError
  [[noreturn]] void raise() const;
};

}  // namespace overlap
