#include "producer/producer_error.hpp"

#include <utility>

namespace overlap {
namespace {

std::string attach_text(const AttachProblem& problem) {
  std::string text = "cannot attach to overlapd: " + problem.text;
  const char* separator = " (tried ";
  for (const AttachAttempt& attempt : problem.attempts) {
    text += separator + attempt.path + ": " + attempt.why;
    separator = "; ";
  }
  return problem.attempts.empty() ? text : text + ")";
}

}  // namespace

AttachError::AttachError(AttachProblem problem)
    : ProducerError(attach_text(problem)), problem_(std::move(problem)) {}

std::optional<AttachCode> AttachError::code() const noexcept {
  return problem_.code == AttachCode::accepted ? std::nullopt : std::optional(problem_.code);
}

ForkedProcess::ForkedProcess()
    : ProducerError(
          "this handle belongs to the process that called fork: the channel stayed there; make a "
          "new Producer in the child") {}

void ChannelFailure::raise() const {
  switch (kind) {
    case Kind::gone:
      throw DaemonGone(text);
    case Kind::closed:
      throw ChannelClosed(reason, text);
    case Kind::refused:
      break;
  }
  throw AttachError(problem);
}

}  // namespace overlap
