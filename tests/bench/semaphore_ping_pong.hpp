#pragma once

#include "tests/bench/latency_record.hpp"

#include <sys/types.h>
#include <chrono>

namespace overlap::bench {

/// Two processes that wake each other in turns through `boost::interprocess` semaphores in shared
/// memory and do nothing else: what any round trip between sleeping processes costs here.
/// Restricted: one thread.
class SemaphorePingPong {
 public:
  /// Starts the other process.
  /// @throws std::system_error
  SemaphorePingPong();
  /// Ends it.
  ~SemaphorePingPong();
  SemaphorePingPong(const SemaphorePingPong&) = delete;
  SemaphorePingPong& operator=(const SemaphorePingPong&) = delete;

  /// Round trips, one after the other.
  [[nodiscard]] LatencyRecord measure(std::chrono::milliseconds duration);

 private:
  struct Table;

  Table* table_ = nullptr;
  pid_t echo_ = -1;
};

}  // namespace overlap::bench
