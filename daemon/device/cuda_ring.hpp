#pragma once

#include "daemon/device/cuda_handles.hpp"
#include "shared/file_descriptor.hpp"

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace overlap {

/// Rings an eventfd when an event is over, through host functions on streams of its own: on a lane
/// they would hold up the lane, on one stream a short wait would queue behind a long one.
///
/// It rings a duplicate of the descriptor, so the caller may close its own at any time.
/// Thread safety: restricted: one thread.
class CudaRing {
 public:
  /// Armed at once at most; further calls arm nothing.
  static constexpr std::size_t kMaxArmed = 8;

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
    CudaStream stream;
    FileDescriptor eventfd;
    int lent_eventfd = -1;
    std::uint64_t recording = 0;
    std::atomic<bool> armed = false;
  };

  static void CUDART_CB ring_slot(void* slot) noexcept;

  std::array<Slot, kMaxArmed> slots_;
};

}  // namespace overlap
