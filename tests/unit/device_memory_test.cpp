#include "daemon/device/device_memory.hpp"

#include "daemon/device/virtual_time_device.hpp"
#include "tests/unit/forwarding_device.hpp"

#include <gtest/gtest.h>

#include <set>

namespace overlap {
namespace {

/// Knows what was given out and not taken back, each kind apart.
class CountingDevice final : public testing::ForwardingDevice {
 public:
  using ForwardingDevice::ForwardingDevice;

  std::byte* allocate(std::uint64_t bytes) override {
    std::byte* const memory = ForwardingDevice::allocate(bytes);
    if (memory != nullptr) {
      buffers.insert(memory);
    }
    return memory;
  }
  void release(std::byte* memory) noexcept override {
    EXPECT_EQ(buffers.erase(memory), 1U);
    ForwardingDevice::release(memory);
  }
  std::byte* allocate_host_table(std::uint64_t bytes) override {
    std::byte* const memory = ForwardingDevice::allocate_host_table(bytes);
    tables.insert(memory);
    return memory;
  }
  void release_host_table(std::byte* memory) noexcept override {
    EXPECT_EQ(tables.erase(memory), 1U);
    ForwardingDevice::release_host_table(memory);
  }

  std::set<std::byte*> buffers;
  std::set<std::byte*> tables;
};

class DeviceMemoryOf : public ::testing::Test {
 protected:
  VirtualTimeDevice virtual_device{VirtualCosts{}};
  CountingDevice device{virtual_device};
};

TEST_F(DeviceMemoryOf, NothingIsEmpty) {
  DeviceMemory sut;
  EXPECT_EQ(sut.data(), nullptr);
  EXPECT_EQ(sut.bytes(), 0U);
  sut.reset();
  EXPECT_EQ(sut.data(), nullptr);
}

TEST_F(DeviceMemoryOf, ABufferGoesBackAsABuffer) {
  {
    const DeviceMemory sut(device, DeviceMemory::Kind::buffer, 1000);
    EXPECT_EQ(sut.bytes(), 1000U);
    EXPECT_TRUE(device.buffers.contains(sut.data()));
    EXPECT_TRUE(device.tables.empty());
  }
  EXPECT_TRUE(device.buffers.empty());
}

TEST_F(DeviceMemoryOf, AHostTableGoesBackAsAHostTable) {
  {
    const DeviceMemory sut(device, DeviceMemory::Kind::host_table, 1000);
    EXPECT_TRUE(device.tables.contains(sut.data()));
    EXPECT_TRUE(device.buffers.empty());
  }
  EXPECT_TRUE(device.tables.empty());
}

TEST_F(DeviceMemoryOf, AFullDeviceIsEmpty) {
  virtual_device.fail(VirtualTimeDevice::Call::allocate, 1, {DeviceOutcome::failed, 2});
  const DeviceMemory sut(device, DeviceMemory::Kind::buffer, 1000);
  EXPECT_EQ(sut.data(), nullptr);
  EXPECT_EQ(sut.bytes(), 0U);
}

TEST_F(DeviceMemoryOf, AMovedOneIsEmptyAndTheOtherOwns) {
  DeviceMemory from(device, DeviceMemory::Kind::buffer, 64);
  std::byte* const data = from.data();
  DeviceMemory sut(std::move(from));
  EXPECT_EQ(sut.data(), data);
  EXPECT_EQ(sut.bytes(), 64U);
  // NOLINTNEXTLINE(bugprone-use-after-move): moved-from is empty by contract.
  EXPECT_EQ(from.data(), nullptr);
  EXPECT_EQ(from.bytes(), 0U);
  EXPECT_EQ(device.buffers.size(), 1U);
}

TEST_F(DeviceMemoryOf, AnAssignedOneGivesItsOwnBackFirst) {
  DeviceMemory sut(device, DeviceMemory::Kind::host_table, 64);
  sut = DeviceMemory(device, DeviceMemory::Kind::buffer, 128);
  EXPECT_TRUE(device.tables.empty());
  EXPECT_EQ(device.buffers.size(), 1U);
  EXPECT_EQ(sut.bytes(), 128U);
  sut = DeviceMemory();
  EXPECT_TRUE(device.buffers.empty());
}

TEST_F(DeviceMemoryOf, ItselfStaysWhatItIs) {
  DeviceMemory sut(device, DeviceMemory::Kind::buffer, 64);
  DeviceMemory& same = sut;
  sut = std::move(same);
  // NOLINTNEXTLINE(bugprone-use-after-move): an assignment to itself changes nothing.
  EXPECT_EQ(sut.bytes(), 64U);
  EXPECT_TRUE(device.buffers.contains(sut.data()));
}

TEST_F(DeviceMemoryOf, AResetOneCanBeFilledAgain) {
  DeviceMemory sut(device, DeviceMemory::Kind::buffer, 64);
  sut.reset();
  EXPECT_TRUE(device.buffers.empty());
  EXPECT_EQ(sut.bytes(), 0U);
  sut = DeviceMemory(device, DeviceMemory::Kind::buffer, 32);
  EXPECT_EQ(sut.bytes(), 32U);
}

}  // namespace
}  // namespace overlap
