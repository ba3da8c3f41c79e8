#pragma once

#include "daemon/device/device.hpp"

#include <cstdint>
#include <memory>
#include <string>

namespace overlap {

enum class BackendRequest : std::uint8_t {
  /// A GPU if there is one, else the CPU, with the reason.
  automatic,
  /// A GPU or nothing.
  cuda,
  host,
};

struct ChosenDevice {
  /// Null if what was asked for is not there.
  std::unique_ptr<Device> device;
  /// Why this one; why none.
  std::string note;
};

/// Opens the device that the daemon will own.
/// @param worker_count host worker threads; 0 runs kernels on the engine's thread
[[nodiscard]] ChosenDevice choose_device(BackendRequest request, std::uint32_t cuda_index,
                                         std::uint32_t worker_count);

}  // namespace overlap
