#pragma once

#include "daemon/engine/batch.hpp"

#include <cstddef>
#include <cstdint>

namespace overlap {

[[nodiscard]] constexpr std::uint64_t round_up(std::uint64_t value,
                                               std::uint64_t multiple) noexcept {
  return (value + multiple - 1) / multiple * multiple;
}

/// Bytes between the inputs or results of two jobs of a batch in a lane's buffer: kernels are promised
/// that much of their pointers.
[[nodiscard]] constexpr std::uint64_t footprint(std::uint64_t bytes) noexcept {
  return round_up(bytes, 256);
}

/// What a job of a run has become before a stage; the result is what it is behind the last one.
[[nodiscard]] inline std::uint64_t bytes_before(const BatchRun& run, std::size_t stage) noexcept {
  return stage == 0 ? run.plan->input_bytes : run.plan->plan.stages[stage - 1].max_output_bytes;
}

}  // namespace overlap
