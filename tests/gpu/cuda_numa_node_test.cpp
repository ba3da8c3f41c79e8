#include "daemon/device/cuda_numa_node.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>

namespace overlap::test {
namespace {

/// A sysfs tree with one device.
class FakeSysfs {
 public:
  explicit FakeSysfs(const std::string& numa_node) {
    std::string pattern = (std::filesystem::temp_directory_path() / "sysfs-XXXXXX").string();
    root_ = ::mkdtemp(pattern.data());
    const std::filesystem::path folder = root_ / "bus/pci/devices/0000:1b:00.0";
    std::filesystem::create_directories(folder);
    std::ofstream(folder / "numa_node") << numa_node;
  }
  FakeSysfs(const FakeSysfs&) = delete;
  FakeSysfs& operator=(const FakeSysfs&) = delete;
  ~FakeSysfs() { std::filesystem::remove_all(root_); }

  [[nodiscard]] const std::filesystem::path& root() const noexcept { return root_; }

 private:
  std::filesystem::path root_;
};

TEST(CudaNumaNode, IsWhatSysfsSays) {
  for (const int node : {0, 1, 7, -1}) {
    const FakeSysfs sysfs(std::to_string(node) + "\n");
    EXPECT_EQ(read_numa_node("0000:1b:00.0", sysfs.root()), node);
  }
}

TEST(CudaNumaNode, IsFoundUnderABusAddressInCapitals) {
  const FakeSysfs sysfs("1\n");
  EXPECT_EQ(read_numa_node("0000:1B:00.0", sysfs.root()), 1);
}

TEST(CudaNumaNode, IsUnknownWithoutAReadableFile) {
  EXPECT_EQ(read_numa_node("0000:ff:00.0", FakeSysfs("1\n").root()), -1);
  EXPECT_EQ(read_numa_node("0000:1b:00.0", FakeSysfs("").root()), -1);
  EXPECT_EQ(read_numa_node("0000:1b:00.0", FakeSysfs("many\n").root()), -1);
  EXPECT_EQ(read_numa_node("0000:1b:00.0", "/nonexistent"), -1);
}

}  // namespace
}  // namespace overlap::test
