#pragma once

#include "tests/bench/payload.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overlap::bench {

/// What one of the benchmark's own processes is told: which part it plays and with what.
struct RoleOptions {
  /// `producer`, `latency`, `idle`, `attacher`, `textbook`, or a peer's.
  std::string role;
  /// The daemon's socket; for a peer the folder or name where its processes meet.
  std::string socket_path;
  std::uint64_t slot_bytes = 0;
  std::uint32_t slot_count = 8;
  Work work = Work::scale;
  /// Passes, with `Work::vector_add`.
  std::uint32_t repeat = 1;
  /// Empty: the library's own choice.
  std::optional<std::chrono::nanoseconds> spin{};
  /// Channels of an idle process; connections of a peer's process; its producers.
  std::uint32_t count = 1;
  /// Of a peer's worker.
  std::uint32_t thread_count = 1;
  /// Which of several equal processes.
  std::uint32_t index = 0;
  /// Elements of the textbook's vectors.
  std::uint64_t element_count = 0;

  /// Behind the program's name.
  [[nodiscard]] std::vector<std::string> to_arguments() const;
  /// @throws std::runtime_error
  [[nodiscard]] static RoleOptions from_arguments(const std::vector<std::string>& arguments);
  /// Whether these arguments are for one of the benchmark's own processes.
  [[nodiscard]] static bool are_meant(const std::vector<std::string>& arguments);
};

}  // namespace overlap::bench
