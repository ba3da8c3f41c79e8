#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace overlap::bench {

/// Names and values: date, processor, threads, memory, kernel, and the GPU's driver if there is one.
[[nodiscard]] std::vector<std::pair<std::string, std::string>> machine_facts();

/// Memory that could be used without swapping, bytes; 0 if the kernel does not say.
[[nodiscard]] std::uint64_t available_memory_bytes();

}  // namespace overlap::bench
