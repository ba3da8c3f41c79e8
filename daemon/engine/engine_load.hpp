#pragma once

#include <atomic>
#include <cstdint>

namespace overlap {

/// How much an engine has on its device, for those who would stall it: pinning holds the driver's
/// lock, unpinning waits for every running kernel. Written by the engine; read from any thread.
struct EngineLoad {
  std::atomic<std::uint32_t> batches_in_flight{0};
  /// The longest that one of those which are next to end is expected to take on the device; 0 with
  /// none in flight.
  std::atomic<std::uint64_t> longest_batch_ns{0};
  /// When something was last taken to be issued, or issued, CLOCK_MONOTONIC; 0 before the first time.
  std::atomic<std::uint64_t> last_issue_ns{0};
};

}  // namespace overlap
