#pragma once

#include "daemon/device/device.hpp"

#include <memory>
#include <string>

namespace overlap {

/// A GPU, or why there is none.
struct CudaProbe {
  /// Null if it cannot be used.
  std::unique_ptr<Device> device;
  /// A sentence with the CUDA error's name and number; empty with a device.
  std::string why_not;
  /// Worth a line in the log although the device works; mostly empty.
  std::string remark;
};

/// Opens GPU `index`, counted among the visible ones. Never throws for a GPU that cannot be used; in
/// a build without CUDA it only says so. May be called again until a GPU is ready.
///
/// Where the environment does not say otherwise, the first call sets `CUDA_DEVICE_MAX_CONNECTIONS`
/// and `CUDA_MODULE_LOADING` for this process, as the driver has no other way to be told.
/// @pre at the first call no other thread reads or writes the environment
[[nodiscard]] CudaProbe make_cuda_device(int index);

}  // namespace overlap
