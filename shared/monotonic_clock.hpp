#pragma once

#include <cstdint>
#include <ctime>

namespace overlap {

/// CLOCK_MONOTONIC in nanoseconds: the one clock of both sides. Any thread; never a system call
/// where the vDSO serves it.
[[nodiscard]] inline std::uint64_t monotonic_now_ns() noexcept {
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<std::uint64_t>(now.tv_sec) * 1'000'000'000ULL +
         static_cast<std::uint64_t>(now.tv_nsec);
}

}  // namespace overlap
