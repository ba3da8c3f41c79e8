#pragma once

#include "kernels/pipeline.hpp"

#include <chrono>
#include <cstdint>

namespace overlap::bench {

/// The same kernel in a loop over as many buffers of the same size, in one process: what a host
/// backend could reach if handing slots over cost nothing.
class HostCeiling {
 public:
  HostCeiling(const Pipeline& pipeline, std::uint64_t slot_bytes, std::uint32_t slot_count);
  ~HostCeiling();
  HostCeiling(const HostCeiling&) = delete;
  HostCeiling& operator=(const HostCeiling&) = delete;

  /// Input bytes a second, 10^9, with `thread_count` threads that share the buffers out.
  [[nodiscard]] double measure(std::uint32_t thread_count, std::chrono::milliseconds duration);

 private:
  void run_slot(std::uint32_t slot);

  const Pipeline& pipeline_;
  std::uint64_t slot_bytes_;
  std::uint32_t slot_count_;
  std::uint64_t mapped_bytes_;
  std::byte* memory_;
};

}  // namespace overlap::bench
