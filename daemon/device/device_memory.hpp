#pragma once

#include "daemon/device/device.hpp"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace overlap {

/// Owns memory of a device or a host table of it. Move-only; moved-from is empty.
///
/// @pre the device outlives it, and no work uses the memory when it goes
class DeviceMemory {
 public:
  enum class Kind : std::uint8_t { buffer, host_table };

  DeviceMemory() noexcept = default;
  /// Empty if the device has not enough.
  DeviceMemory(Device& device, Kind kind, std::uint64_t bytes)
      : device_(&device),
        kind_(kind),
        data_(kind == Kind::buffer ? device.allocate(bytes) : device.allocate_host_table(bytes)),
        bytes_(data_ != nullptr ? bytes : 0) {}
  DeviceMemory(DeviceMemory&& other) noexcept
      : device_(other.device_),
        kind_(other.kind_),
        data_(std::exchange(other.data_, nullptr)),
        bytes_(std::exchange(other.bytes_, 0)) {}
  DeviceMemory& operator=(DeviceMemory&& other) noexcept {
    if (this != &other) {
      reset();
      device_ = other.device_;
      kind_ = other.kind_;
      data_ = std::exchange(other.data_, nullptr);
      bytes_ = std::exchange(other.bytes_, 0);
    }
    return *this;
  }
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;
  ~DeviceMemory() { reset(); }

  [[nodiscard]] std::byte* data() const noexcept { return data_; }
  [[nodiscard]] std::uint64_t bytes() const noexcept { return bytes_; }

  void reset() noexcept {
    if (data_ == nullptr) {
      return;
    }
    if (kind_ == Kind::buffer) {
      device_->release(data_);
    } else {
      device_->release_host_table(data_);
    }
    data_ = nullptr;
    bytes_ = 0;
  }

 private:
  Device* device_ = nullptr;
  Kind kind_ = Kind::buffer;
  std::byte* data_ = nullptr;
  std::uint64_t bytes_ = 0;
};

}  // namespace overlap
