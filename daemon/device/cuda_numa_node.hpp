#pragma once

#include <filesystem>
#include <string_view>

namespace overlap {

/// The NUMA node next to a PCI device.
/// @param bus_id as CUDA writes it: "0000:1B:00.0", hexadecimal in either case
/// @param sysfs_root where sysfs is mounted
/// @return -1 if unknown: no such device, a machine without nodes, a virtual machine that hides them
[[nodiscard]] int read_numa_node(std::string_view bus_id,
                                 const std::filesystem::path& sysfs_root = "/sys");

}  // namespace overlap
