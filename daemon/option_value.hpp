#pragma once

#include "shared/byte_size.hpp"
#include "shared/duration_text.hpp"

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// Why a value's text cannot be used. The message says what was written and what is allowed.
class OptionValueError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The readers below take the whole text or throw `OptionValueError`. Thread safety: any.

/// Decimal digits within an inclusive range: no sign, space, prefix, exponent or fraction.
[[nodiscard]] std::uint32_t read_count(std::string_view text, std::uint32_t minimum,
                                       std::uint32_t maximum);

/// The same, or the word `auto`, which gives an empty value.
[[nodiscard]] std::optional<std::uint32_t> read_count_or_auto(std::string_view text,
                                                              std::uint32_t minimum,
                                                              std::uint32_t maximum);

/// A size with units (`parse_byte_size`) within an inclusive range.
[[nodiscard]] std::uint64_t read_bytes(std::string_view text, std::uint64_t minimum,
                                       std::uint64_t maximum);

/// A duration with its unit (`parse_duration`), at most `maximum`.
[[nodiscard]] std::chrono::nanoseconds read_duration(std::string_view text,
                                                     std::chrono::nanoseconds maximum);

/// Three octal digits, with or without a leading 0.
[[nodiscard]] std::uint32_t read_mode(std::string_view text);

/// `yes` or `no`.
[[nodiscard]] bool read_yes_no(std::string_view text);

/// Names separated by commas, none of them empty; the word `any` gives an empty list.
[[nodiscard]] std::vector<std::string> read_names(std::string_view text);

/// Paths separated by colons, none of them empty.
[[nodiscard]] std::vector<std::string> read_paths(std::string_view text);

/// The index of `text` in `words`.
[[nodiscard]] std::size_t read_word(std::string_view text, std::span<const std::string_view> words);

}  // namespace overlap
