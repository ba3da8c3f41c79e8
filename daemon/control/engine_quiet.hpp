#pragma once

#include "daemon/engine/engine_load.hpp"

#include <atomic>
#include <cstdint>

namespace overlap {

/// A batch below this is over before anybody minds that an unpinning waited for it.
inline constexpr std::uint64_t kLongBatchNs = 2'000'000;
/// So long after something was issued more is to be expected.
inline constexpr std::uint64_t kRecentIssueNs = 2'000'000;

/// Whether a call that holds the driver's lock would stall somebody's jobs. Thread safety: any.
[[nodiscard]] inline bool is_busy(const EngineLoad& load, std::uint64_t now_ns) noexcept {
  if (load.batches_in_flight.load(std::memory_order_relaxed) != 0) {
    return true;
  }
  const std::uint64_t last_ns = load.last_issue_ns.load(std::memory_order_relaxed);
  // The engine may have issued since `now_ns` was read.
  return last_ns != 0 && (now_ns < last_ns || now_ns - last_ns < kRecentIssueNs);
}

/// Whether a call that waits for every running kernel would wait long: one is expected to take long,
/// or has taken longer than it was expected to. Thread safety: any.
[[nodiscard]] inline bool runs_long_batch(const EngineLoad& load, std::uint64_t now_ns) noexcept {
  if (load.batches_in_flight.load(std::memory_order_relaxed) == 0) {
    return false;
  }
  const std::uint64_t last_ns = load.last_issue_ns.load(std::memory_order_relaxed);
  return load.longest_batch_ns.load(std::memory_order_relaxed) >= kLongBatchNs ||
         (last_ns != 0 && now_ns > last_ns && now_ns - last_ns >= kLongBatchNs);
}

}  // namespace overlap
