#include "daemon/device/cuda_ring.hpp"

#include <fcntl.h>

namespace overlap {

CudaRing::~CudaRing() {
  for (const Slot& slot : slots_) {
    // Fails at once if the context is lost; then no host function runs any more either.
    if (cudaStreamSynchronize(slot.stream.get()) != cudaSuccess) {
      (void)cudaGetLastError();
    }
  }
}

void CudaRing::arm(CudaEventRef event, std::uint64_t recording, int eventfd) noexcept {
  Slot* free_slot = nullptr;
  for (Slot& slot : slots_) {
    // Acquires what `ring_slot` released: it is done with the descriptor.
    if (!slot.armed.load(std::memory_order_acquire)) {
      free_slot = &slot;
    } else if (slot.recording == recording && slot.lent_eventfd == eventfd) {
      return;
    }
  }
  if (free_slot == nullptr) {
    return;
  }
  free_slot->eventfd = FileDescriptor(::fcntl(eventfd, F_DUPFD_CLOEXEC, 0));
  if (!free_slot->eventfd) {
    return;
  }
  free_slot->lent_eventfd = eventfd;
  free_slot->recording = recording;
  free_slot->armed.store(true, std::memory_order_relaxed);
  const cudaStream_t stream = free_slot->stream.get();
  if (cudaStreamWaitEvent(stream, event.get(), 0) != cudaSuccess ||
      cudaLaunchHostFunc(stream, &ring_slot, free_slot) != cudaSuccess) {
    (void)cudaGetLastError();
    free_slot->armed.store(false, std::memory_order_relaxed);
  }
}

void CUDART_CB CudaRing::ring_slot(void* slot) noexcept {
  auto& over = *static_cast<Slot*>(slot);
  ring(over.eventfd.get());
  // Releases the descriptor to `arm`.
  over.armed.store(false, std::memory_order_release);
}

}  // namespace overlap
