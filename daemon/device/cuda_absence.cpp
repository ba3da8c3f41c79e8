#include "daemon/device/cuda_absence.hpp"

#include <cuda_runtime_api.h>

namespace overlap {
namespace {

std::string version_text(int version) {
  return std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

std::string advice(const CudaAbsence& absence) {
  switch (static_cast<cudaError_t>(absence.code)) {
    case cudaErrorInsufficientDriver:
      if (absence.driver_version == 0) {
        return "no NVIDIA driver library (libcuda.so.1) was found: install the driver, or let this "
               "process see it";
      }
      return "the driver is for CUDA " + version_text(absence.driver_version) +
             " and this program for CUDA " + version_text(absence.runtime_version) +
             ": update the driver";
    case cudaErrorStubLibrary:
      return "the libcuda.so.1 that was found is the toolkit's stub: remove it from the library "
             "path";
    case cudaErrorNoDevice:
    case cudaErrorInvalidDevice:
      if (absence.visible_devices) {
        return "CUDA_VISIBLE_DEVICES=\"" + *absence.visible_devices +
               "\" hides the GPU that was asked for";
      }
      return "the driver is there but shows no such GPU: /dev/nvidia* may be hidden from this "
             "process (PrivateDevices=, DeviceAllow=, a container without GPU access)";
    case cudaErrorDevicesUnavailable:
      return "another process has the GPU for itself (compute mode), or it is busy";
    case cudaErrorSystemNotReady:
      return "the system is not ready yet (fabric manager or driver start-up): try again later";
    case cudaErrorSystemDriverMismatch:
      return "driver library and kernel module are of different versions, as after an update: "
             "reload the module, or restart the machine";
    case cudaErrorCompatNotSupportedOnDevice:
      return "the forward-compatibility library does not support this GPU: remove it from the "
             "library path, or update the driver";
    case cudaErrorUnknown:
    case cudaErrorInitializationError:
      return "the driver could not start: the nvidia_uvm module may not be loaded, or "
             "/dev/nvidia-uvm is hidden from this process";
    default:
      return {};
  }
}

}  // namespace

std::string why_no_cuda(const CudaAbsence& absence) {
  std::string text = "CUDA cannot be used: " + absence.what;
  if (const std::string what_to_do = advice(absence); !what_to_do.empty()) {
    text += "; " + what_to_do;
  }
  return text;
}

}  // namespace overlap
