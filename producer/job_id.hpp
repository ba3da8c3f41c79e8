#pragma once

#include <cstdint>

namespace overlap {

/// Names a job of one `Producer`, for ever: counted from 1 in submission order, the same before and
/// after a resume.
enum class JobId : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t job_number(JobId id) noexcept {
  return static_cast<std::uint64_t>(id);
}

}  // namespace overlap
