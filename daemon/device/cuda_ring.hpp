#pragma once

#include "daemon/device/cuda_handles.hpp"
#include "shared/file_descriptor.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace overlap {

/// Rings an eventfd when an event is over, through a host function on a stream of its own: on a lane
/// it would hold up the lane. Rings one after another, in the order armed.
///
/// It rings a duplicate of the descriptor, so the caller may close its own at any time.
/// Thread safety: restricted: one thread.
class CudaRing {
 public:
  /// Armed at once at most; further calls arm nothing, as one of these rings before.
  static constexpr std::size_t kMaxArmed = 4;

  /// On the current device. @throws CudaError
  CudaRing() = default;
  CudaRing(const CudaRing&) = delete;
  CudaRing& operator=(const CudaRing&) = delete;
  /// Waits for what is armed. @pre the events armed for are over, or will be
  ~CudaRing();

  /// @param recording tells this recording of the event from every other; already armed, it is not
  ///                  armed again
  void arm(CudaEventRef event, std::uint64_t recording, int eventfd) noexcept;

 private:
  struct Slot {
    FileDescriptor eventfd;
    int lent_eventfd = -1;
    std::uint64_t recording = 0;
    std::atomic<bool> armed = false;
  };

  static void CUDART_CB ring_slot(void* slot) noexcept;

  // Destroyed last to first: the slots outlive the stream whose host functions use them.
  std::array<Slot, kMaxArmed> slots_;
  CudaStream stream_;
};

}  // namespace overlap
