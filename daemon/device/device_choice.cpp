#include "daemon/device/device_choice.hpp"

#include "daemon/device/cuda_factory.hpp"
#include "daemon/device/host_device.hpp"

namespace overlap {

ChosenDevice choose_device(BackendRequest request, std::uint32_t cuda_index,
                           std::uint32_t worker_count) {
  if (request == BackendRequest::host) {
    return {std::make_unique<HostDevice>(worker_count), "asked for"};
  }
  CudaProbe probe = make_cuda_device(static_cast<int>(cuda_index));
  if (probe.device) {
    return {std::move(probe.device), probe.remark};
  }
  if (request == BackendRequest::cuda) {
    return {nullptr, "backend=cuda was asked for, and " + probe.why_not};
  }
  return {std::make_unique<HostDevice>(worker_count), probe.why_not};
}

}  // namespace overlap
