#include "tests/bench/machine_facts.hpp"

#include <sys/utsname.h>
#include <ctime>
#include <fstream>
#include <sstream>
#include <thread>

namespace overlap::bench {
namespace {

/// What stands behind the name in a file of lines `name : value`; empty if there is no such line.
std::string read_entry(const std::string& file, const std::string& name) {
  std::ifstream in(file);
  std::string line;
  while (std::getline(in, line)) {
    const std::size_t colon = line.find(':');
    if (line.compare(0, name.size(), name) == 0 && colon != std::string::npos) {
      const std::size_t value = line.find_first_not_of(" \t", colon + 1);
      return value == std::string::npos ? "" : line.substr(value);
    }
  }
  return "";
}

std::uint64_t read_kibibytes(const std::string& name) {
  std::istringstream text(read_entry("/proc/meminfo", name));
  std::uint64_t kibibytes = 0;
  text >> kibibytes;
  return kibibytes << 10U;
}

std::string date_text() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  char text[32];
  ::gmtime_r(&now, &parts);
  std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
  return text;
}

}  // namespace

std::vector<std::pair<std::string, std::string>> machine_facts() {
  std::vector<std::pair<std::string, std::string>> facts;
  facts.emplace_back("date", date_text());
  facts.emplace_back("processor", read_entry("/proc/cpuinfo", "model name"));
  facts.emplace_back("hardware threads", std::to_string(std::thread::hardware_concurrency()));
  facts.emplace_back("memory", std::to_string(read_kibibytes("MemTotal") >> 30U) + " GiB");
  utsname name{};
  if (::uname(&name) == 0) {
    facts.emplace_back("kernel", std::string(name.sysname) + " " + name.release);
  }
  if (const std::string driver = read_entry("/proc/driver/nvidia/version", "NVRM version");
      !driver.empty()) {
    facts.emplace_back("driver", driver);
  }
  return facts;
}

std::uint64_t available_memory_bytes() { return read_kibibytes("MemAvailable"); }

}  // namespace overlap::bench
