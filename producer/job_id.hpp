#pragma once

#include <cstdint>

namespace overlap {

/// Names a job of one `Producer`, for ever: rising from 1 in submission order, the same before and
/// after a resume. Updates of tables and resets of state are counted along.
enum class JobId : std::uint64_t {};

[[nodiscard]] constexpr std::uint64_t job_number(JobId id) noexcept {
  return static_cast<std::uint64_t>(id);
}

}  // namespace overlap
