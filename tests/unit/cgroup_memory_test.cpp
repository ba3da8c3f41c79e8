#include "daemon/control/cgroup_memory.hpp"

#include "tests/unit/fake_daemon.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string>

namespace overlap {
namespace {

/// A cgroup2 hierarchy and a membership file, made of plain files.
class CgroupTree {
 public:
  explicit CgroupTree(const std::string& membership = "0::/system.slice/overlapd.service\n") {
    std::filesystem::create_directory(mount_);
    std::ofstream(membership_) << membership;
  }

  /// @param cgroup beginning with a slash; "" is the root
  void add(const std::string& cgroup, const std::string& limit, const std::string& current) {
    std::filesystem::create_directories(mount_ + cgroup);
    std::ofstream(mount_ + cgroup + "/memory.max") << limit << '\n';
    std::ofstream(mount_ + cgroup + "/memory.current") << current << '\n';
  }

  [[nodiscard]] std::optional<CgroupMemory> read() const {
    return read_cgroup_memory(membership_, mount_);
  }

 private:
  testing::SocketFolder folder_;
  std::string membership_ = folder_.path("membership");
  std::string mount_ = folder_.path("cgroup");
};

TEST(CgroupMemory, IsWhatTheOwnLimitLeaves) {
  CgroupTree tree;
  tree.add("/system.slice/overlapd.service", "1000000", "400000");
  const auto sut = tree.read();
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->available_bytes, 600000U);
  EXPECT_EQ(sut->cgroup, "/system.slice/overlapd.service");
}

TEST(CgroupMemory, IsTheLeastThatAnyAncestorLeaves) {
  CgroupTree tree;
  tree.add("/system.slice/overlapd.service", "1000000", "100000");
  tree.add("/system.slice", "5000000", "4999000");
  const auto sut = tree.read();
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->available_bytes, 1000U);
  EXPECT_EQ(sut->cgroup, "/system.slice");
}

TEST(CgroupMemory, CountsALimitFarAboveAndNotTheLargestOne) {
  CgroupTree tree("0::/a/b/c/d\n");
  tree.add("/a/b/c/d", "max", "10");
  tree.add("/a/b/c", "max", "10");
  tree.add("/a/b", "900", "500");
  tree.add("/a", "800", "700");
  const auto sut = tree.read();
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->available_bytes, 100U);
  EXPECT_EQ(sut->cgroup, "/a");
}

TEST(CgroupMemory, IsNothingWhereEveryLimitIsMax) {
  CgroupTree tree;
  tree.add("/system.slice/overlapd.service", "max", "400000");
  tree.add("/system.slice", "max", "400000");
  EXPECT_FALSE(tree.read());
}

TEST(CgroupMemory, LeavesZeroWhereMoreIsInUseThanAllowed) {
  CgroupTree tree;
  tree.add("/system.slice/overlapd.service", "1000", "1001");
  ASSERT_TRUE(tree.read());
  EXPECT_EQ(tree.read()->available_bytes, 0U);
}

TEST(CgroupMemory, CountsTheLimitAtTheMountPointOfAContainer) {
  // With a cgroup namespace of its own a container sees itself as the root.
  CgroupTree tree("0::/\n");
  tree.add("", "5000", "1500");
  const auto sut = tree.read();
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->available_bytes, 3500U);
  EXPECT_EQ(sut->cgroup, "/");
}

TEST(CgroupMemory, CountsTheMountPointAboveOtherCgroupsToo) {
  CgroupTree tree("0::/worker\n");
  tree.add("/worker", "9000", "1000");
  tree.add("", "5000", "4000");
  ASSERT_TRUE(tree.read());
  EXPECT_EQ(tree.read()->available_bytes, 1000U);
}

TEST(CgroupMemory, IsNothingAtTheRootOfTheMachineWhichHasNoLimit) {
  EXPECT_FALSE(CgroupTree("0::/\n").read());
}

TEST(CgroupMemory, IsNothingWithoutTheUnifiedHierarchy) {
  CgroupTree tree("12:memory:/docker/abc\n1:name=systemd:/docker/abc\n");
  tree.add("/docker/abc", "1000", "1");
  EXPECT_FALSE(tree.read());
  EXPECT_FALSE(read_cgroup_memory("/nonexistent/membership", "/nonexistent/mount"));
}

TEST(CgroupMemory, FindsTheUnifiedHierarchyBesideOlderOnes) {
  CgroupTree tree("12:memory:/old\n0::/new\n");
  tree.add("/old", "10", "1");
  tree.add("/new", "1000", "1");
  ASSERT_TRUE(tree.read());
  EXPECT_EQ(tree.read()->available_bytes, 999U);
}

TEST(CgroupMemory, IgnoresFilesThatHoldNoNumber) {
  for (const std::string text : {"", "-1", "12x", "0x10", "99999999999999999999999"}) {
    CgroupTree tree;
    tree.add("/system.slice/overlapd.service", text, "1");
    tree.add("/system.slice", "1000", text);
    EXPECT_FALSE(tree.read()) << text;
  }
}

TEST(CgroupMemory, IgnoresALineThatNamesNoPath) {
  EXPECT_FALSE(CgroupTree("0::\n").read());
  EXPECT_FALSE(CgroupTree("0::relative\n").read());
}

TEST(CgroupMemory, ReadsTheLargestNumbers) {
  CgroupTree tree;
  tree.add("/system.slice", "18446744073709551615", "0");
  ASSERT_TRUE(tree.read());
  EXPECT_EQ(tree.read()->available_bytes, UINT64_MAX);
}

std::optional<std::uint64_t> machine_memory(const std::string& text) {
  const testing::SocketFolder folder;
  std::ofstream(folder.path("meminfo")) << text;
  return read_machine_memory(folder.path("meminfo"));
}

TEST(MachineMemory, IsWhatIsAvailableAndNotWhatIsFree) {
  EXPECT_EQ(machine_memory("MemTotal:  3000 kB\nMemFree:  10 kB\nMemAvailable:  2000 kB\n"),
            2000U * 1024);
}

TEST(MachineMemory, IsUnknownWhereItIsNotSaid) {
  EXPECT_FALSE(machine_memory(""));
  EXPECT_FALSE(machine_memory("MemTotal:  3000 kB\nMemFree:  10 kB\n"));
  EXPECT_FALSE(machine_memory("MemAvailable: much\n"));
  EXPECT_FALSE(read_machine_memory("/nonexistent/meminfo"));
}

TEST(MachineMemory, StopsAtTheEndOfTheNumbers) {
  EXPECT_EQ(machine_memory("MemAvailable: 18446744073709551615 kB\n"), UINT64_MAX);
}

TEST(MachineMemory, IsKnownOfThisMachine) {
  ASSERT_TRUE(read_machine_memory());
  EXPECT_GT(*read_machine_memory(), 0U);
}

}  // namespace
}  // namespace overlap
