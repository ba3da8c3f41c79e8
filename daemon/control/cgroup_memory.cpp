#include "daemon/control/cgroup_memory.hpp"

#include <charconv>
#include <fstream>

namespace overlap {
namespace {

/// None for "max", an absent file or anything else that is no number.
std::optional<std::uint64_t> read_number(const std::string& path) {
  std::ifstream file(path);
  std::string text;
  if (!(file >> text)) {
    return std::nullopt;
  }
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

std::optional<std::string> own_cgroup(const std::string& membership_file) {
  std::ifstream file(membership_file);
  std::string line;
  while (std::getline(file, line)) {
    // The unified hierarchy has number 0 and no controllers.
    if (line.rfind("0::", 0) == 0) {
      return line.substr(3);
    }
  }
  return std::nullopt;
}

}  // namespace

std::optional<CgroupMemory> read_cgroup_memory(const std::string& membership_file,
                                               const std::string& mount_point) {
  auto cgroup = own_cgroup(membership_file);
  if (!cgroup || cgroup->empty() || cgroup->front() != '/') {
    return std::nullopt;
  }
  if (*cgroup == "/") {
    cgroup->clear();
  }
  std::optional<CgroupMemory> tightest;
  while (true) {
    const std::string folder = mount_point + *cgroup;
    const auto limit = read_number(folder + "/memory.max");
    const auto current = read_number(folder + "/memory.current");
    if (limit && current) {
      const std::uint64_t available = *limit > *current ? *limit - *current : 0;
      if (!tightest || available < tightest->available_bytes) {
        tightest = CgroupMemory{available, cgroup->empty() ? "/" : *cgroup};
      }
    }
    // The mount point counts too: a container's own limit stands there. The machine's root has none.
    if (cgroup->empty()) {
      return tightest;
    }
    cgroup->resize(cgroup->rfind('/'));
  }
}

std::optional<std::uint64_t> read_machine_memory(const std::string& meminfo_file) {
  std::ifstream file(meminfo_file);
  std::string name;
  std::uint64_t kib = 0;
  std::string rest;
  while (file >> name >> kib && std::getline(file, rest)) {
    if (name == "MemAvailable:") {
      return kib > UINT64_MAX / 1024 ? UINT64_MAX : kib * 1024;
    }
  }
  return std::nullopt;
}

}  // namespace overlap
