#include "daemon/device/cuda_numa_node.hpp"

#include <algorithm>
#include <fstream>
#include <string>

namespace overlap {

int read_numa_node(std::string_view bus_id, const std::filesystem::path& sysfs_root) {
  // sysfs names its folders in lower case.
  std::string folder(bus_id);
  std::transform(folder.begin(), folder.end(), folder.begin(), [](char letter) {
    return letter >= 'A' && letter <= 'F' ? static_cast<char>(letter - 'A' + 'a') : letter;
  });
  std::ifstream file(sysfs_root / "bus" / "pci" / "devices" / folder / "numa_node");
  int node = -1;
  if (!(file >> node)) {
    return -1;
  }
  return std::max(node, -1);
}

}  // namespace overlap
