#pragma once

#include <cstddef>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// Why the options cannot be used: the message carries file, line and key, as far as they apply.
class OptionsError : public std::runtime_error {
 public:
  /// `file` is empty for the command line; `line` is 0 where there is none; `key` may be empty.
  OptionsError(std::string file, std::size_t line, std::string key, const std::string& reason);

  [[nodiscard]] const std::string& file() const noexcept { return file_; }
  [[nodiscard]] std::size_t line() const noexcept { return line_; }
  [[nodiscard]] const std::string& key() const noexcept { return key_; }

 private:
  std::string file_;
  std::size_t line_;
  std::string key_;
};

/// One `key = value` of a configuration file.
struct ConfigEntry {
  /// From 1.
  std::size_t line;
  std::string key;
  std::string value;
};

/// Splits a configuration file into its entries, without knowing which keys there are.
///
/// One `key = value` a line; spaces and tabs around both are dropped. Blank lines and lines whose
/// first character is `#` are skipped. A byte order mark at the start and carriage returns at the
/// ends of lines are accepted. A `#` inside a value belongs to it (`path=/a#b`).
///
/// Thread safety: any.
/// @throws OptionsError with file, line and key for everything that could mean something other than
///         what is written: a section, a line without `=`, an empty value, quotes around a value,
///         a `#` after a space (write comments on their own line), a control character,
///         a key given twice
/// @param repeatable keys that may be given twice all the same
[[nodiscard]] std::vector<ConfigEntry> parse_config(
    std::string_view text, const std::string& file,
    std::span<const std::string_view> repeatable = {});

/// Reads and splits a file.
/// @throws OptionsError as `parse_config`, or if the file cannot be read
[[nodiscard]] std::vector<ConfigEntry> read_config_file(
    const std::string& file, std::span<const std::string_view> repeatable = {});

}  // namespace overlap
