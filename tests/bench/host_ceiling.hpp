#pragma once

#include "tests/bench/kernel_call.hpp"

#include <chrono>
#include <cstdint>

namespace overlap::bench {

/// The same kernel in a loop over as many buffers of the same size, in one process: what a host
/// backend could reach if handing slots over cost nothing.
class HostCeiling {
 public:
  HostCeiling(std::uint64_t slot_bytes, std::uint32_t slot_count);
  ~HostCeiling();
  HostCeiling(const HostCeiling&) = delete;
  HostCeiling& operator=(const HostCeiling&) = delete;

  /// Input bytes a second, 10^9, with `thread_count` threads that share out the first `slot_count`
  /// buffers.
  /// @pre 0 < slot_count, and no more than there are
  [[nodiscard]] double measure(std::uint32_t thread_count, std::uint32_t slot_count,
                               std::chrono::milliseconds duration);

  /// The same buffers' inputs written over and over, every byte, with `thread_count` threads that
  /// take equal parts: what filling producers could reach if nobody read what they write.
  [[nodiscard]] double measure_filling(std::uint32_t thread_count, std::uint32_t slot_count,
                                       std::chrono::milliseconds duration);

 private:
  void run_slot(std::uint32_t slot);
  void fill_slot(std::uint32_t slot);
  /// Calls `work(slot)` in turns on every thread until the time is over.
  template <class SlotWork>
  double measure_with(std::uint32_t thread_count, std::uint32_t slot_count,
                      std::chrono::milliseconds duration, SlotWork work);

  KernelCall kernel_;
  std::uint64_t slot_bytes_;
  std::uint64_t mapped_bytes_;
  std::byte* memory_ = nullptr;
};

}  // namespace overlap::bench
