#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace overlap {

/// The tightest memory limit above this process and how much of it is left.
struct CgroupMemory {
  std::uint64_t available_bytes;
  /// The cgroup with that limit, for the error's text.
  std::string cgroup;
};

/// The least of `memory.max - memory.current` over this process's cgroup and its ancestors: what can
/// be allocated without being killed for it.
/// @param membership_file `/proc/self/cgroup`
/// @param mount_point where the cgroup2 hierarchy is mounted
/// @return none where no limit applies or cgroup2 is not there
[[nodiscard]] std::optional<CgroupMemory> read_cgroup_memory(
    const std::string& membership_file = "/proc/self/cgroup",
    const std::string& mount_point = "/sys/fs/cgroup");

/// What the machine can still give, `MemAvailable`: beyond it somebody is killed, limit or not, since
/// a memfd may be allocated page by page until nothing is left.
/// @return none where the kernel does not say
[[nodiscard]] std::optional<std::uint64_t> read_machine_memory(
    const std::string& meminfo_file = "/proc/meminfo");

}  // namespace overlap
