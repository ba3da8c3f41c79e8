#include "daemon/control/numa_placement.hpp"

#include <gtest/gtest.h>

#include <sys/syscall.h>
#include <unistd.h>

#include <array>
#include <climits>
#include <optional>
#include <thread>
#include <vector>

namespace overlap {
namespace {

constexpr int kDefaultPolicy = 0;
constexpr int kPreferredPolicy = 1;

struct Policy {
  int mode = -1;
  unsigned long first_nodes = 0;
};

/// The memory policy of the calling thread; none where the kernel does not say.
std::optional<Policy> own_policy() {
  Policy policy;
  std::array<unsigned long, 16> nodes{};
  if (::syscall(SYS_get_mempolicy, &policy.mode, nodes.data(), sizeof nodes * CHAR_BIT, nullptr,
                0) != 0) {
    return std::nullopt;
  }
  policy.first_nodes = nodes[0];
  return policy;
}

/// The policy of a thread after asking for a node.
std::optional<Policy> policy_after(int node) {
  std::optional<Policy> policy;
  std::thread([&] {
    prefer_numa_node(node);
    policy = own_policy();
  }).join();
  return policy;
}

TEST(NumaPlacement, PrefersANodeThatThereIs) {
  if (!own_policy()) {
    GTEST_SKIP() << "this kernel does not tell memory policies";
  }
  const auto sut = policy_after(0);
  ASSERT_TRUE(sut);
  EXPECT_EQ(sut->mode, kPreferredPolicy);
  EXPECT_EQ(sut->first_nodes, 1U);
}

TEST(NumaPlacement, ChangesNothingForANodeThatThereCannotBe) {
  if (!own_policy()) {
    GTEST_SKIP() << "this kernel does not tell memory policies";
  }
  for (const int node : {-1, INT_MIN, 1024, INT_MAX}) {
    const auto sut = policy_after(node);
    ASSERT_TRUE(sut);
    EXPECT_EQ(sut->mode, kDefaultPolicy) << node;
  }
}

TEST(NumaPlacement, IsOfTheCallingThreadAlone) {
  const auto before = own_policy();
  if (!before) {
    GTEST_SKIP() << "this kernel does not tell memory policies";
  }
  static_cast<void>(policy_after(0));
  EXPECT_EQ(own_policy()->mode, before->mode);
}

TEST(NumaPlacement, LeavesMemoryToBeHadWhateverTheNode) {
  for (const int node : {-1, 0, 1, 63, 64, 1023, 1024, INT_MAX}) {
    std::vector<char> memory;
    std::thread([&] {
      prefer_numa_node(node);
      memory.assign(1U << 20U, 'x');
    }).join();
    EXPECT_EQ(memory.back(), 'x') << node;
  }
}

}  // namespace
}  // namespace overlap
