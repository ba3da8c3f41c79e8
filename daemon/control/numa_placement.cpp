#include "daemon/control/numa_placement.hpp"

#include <sys/syscall.h>
#include <unistd.h>
#include <array>
#include <climits>

namespace overlap {
namespace {

constexpr int kPreferred = 1;  // MPOL_PREFERRED of linux/mempolicy.h
constexpr std::size_t kBitsPerWord = sizeof(unsigned long) * CHAR_BIT;
constexpr std::size_t kMaxNodes = 1024;

}  // namespace

void prefer_numa_node(int node) noexcept {
  if (node < 0 || static_cast<std::size_t>(node) >= kMaxNodes) {
    return;
  }
  std::array<unsigned long, kMaxNodes / kBitsPerWord> nodes{};
  const auto index = static_cast<std::size_t>(node);
  nodes[index / kBitsPerWord] |= 1UL << (index % kBitsPerWord);
  // Without effect where it fails: the default policy, the node of the running thread, stays.
  ::syscall(SYS_set_mempolicy, kPreferred, nodes.data(), kMaxNodes + 1);
}

}  // namespace overlap
