#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace overlap {

/// The command line, or the input, cannot be used; the message says what is allowed.
class UsageError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A file whose bytes are the table of a stage.
struct TableFile {
  /// From 0.
  std::uint8_t stage_index = 0;
  std::string path{};

  friend bool operator==(const TableFile&, const TableFile&) = default;
};

/// The command line of `overlap-send`.
struct SendOptions {
  std::optional<std::string> socket_path{};
  std::string kernel{};
  std::vector<TableFile> tables{};
  /// A path, `-` or `pattern`.
  std::string input = "pattern";
  /// Of the pattern; empty: `count` whole slots.
  std::optional<std::uint64_t> input_bytes{};
  std::uint64_t slot_bytes = 1U << 20U;
  std::uint32_t slot_count = 8;
  /// Jobs of a pattern, passes over a file.
  std::uint64_t count = 1;
  /// A path or `-`.
  std::optional<std::string> output{};
  bool verify = false;
  bool json = false;
  bool quiet = false;
  bool help = false;
  std::chrono::milliseconds resume_timeout{30000};

  [[nodiscard]] bool reads_pattern() const noexcept { return input == "pattern"; }
};

/// Reads the words after the program's name, strictly: no guessing, no stray words.
/// @throws UsageError
[[nodiscard]] SendOptions read_send_options(std::span<const std::string> words);

/// What `--help` prints, exit codes included.
[[nodiscard]] std::string send_help();

}  // namespace overlap
