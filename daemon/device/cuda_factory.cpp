#include "daemon/device/cuda_factory.hpp"

#include "daemon/device/cuda_absence.hpp"
#include "daemon/device/cuda_check.hpp"
#include "daemon/device/cuda_device.hpp"

#include <cstdlib>

namespace overlap {
namespace {

/// What the driver reads once, when it starts.
void prefer_environment() {
  constexpr int kKeepExisting = 0;
  // By default streams share 8 hardware queues. In a shared one, a stream that waits for an event
  // holds up a stranger: eight three-stream lanes have 24 streams.
  ::setenv("CUDA_DEVICE_MAX_CONNECTIONS", "32", kKeepExisting);
  // By default a kernel is loaded at its first launch, which may wait for everything that runs.
  ::setenv("CUDA_MODULE_LOADING", "EAGER", kKeepExisting);
}

CudaAbsence absence_of(const CudaError& error) {
  CudaAbsence absence;
  absence.code = error.code();
  absence.what = error.what();
  (void)cudaDriverGetVersion(&absence.driver_version);
  (void)cudaRuntimeGetVersion(&absence.runtime_version);
  (void)cudaGetLastError();
  if (const char* const visible = std::getenv("CUDA_VISIBLE_DEVICES"); visible != nullptr) {
    absence.visible_devices = visible;
  }
  return absence;
}

}  // namespace

CudaProbe make_cuda_device(int index) {
  prefer_environment();
  CudaProbe probe;
  try {
    auto device = std::make_unique<CudaDevice>(index);
    if (!device->has_memory_pool()) {
      probe.remark = device->properties().name +
                     " has no memory pools: releasing its memory waits for running kernels";
    }
    probe.device = std::move(device);
  } catch (const CudaError& error) {
    probe.why_not = why_no_cuda(absence_of(error));
  }
  return probe;
}

}  // namespace overlap
