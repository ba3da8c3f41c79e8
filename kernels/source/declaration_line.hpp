#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// A word of a declaration, or a text that stood in quotes.
struct DeclarationWord {
  std::string text;
  bool is_quoted = false;
};

/// One `//!` line of a source file, as words.
struct DeclarationLine {
  /// From 1.
  std::size_t line = 0;
  std::vector<DeclarationWord> words;
};

/// What stands behind `//!` if the line is one of a declaration. Spaces and tabs may come before.
[[nodiscard]] std::optional<std::string_view> declaration_text(std::string_view line) noexcept;

/// What an `#include` line includes, with its brackets or quotes; nothing if it is no such line.
[[nodiscard]] std::optional<std::string_view> include_text(std::string_view line) noexcept;

/// Splits at spaces and tabs; `"..."` is one word, without the quotes. A quote cannot be in it.
/// @return nothing if a quote is not closed, or touches a word
[[nodiscard]] std::optional<std::vector<DeclarationWord>> split_words(std::string_view text);

/// The lines of a text, without their ends (`\n` or `\r\n`).
[[nodiscard]] std::vector<std::string_view> split_lines(std::string_view text);

}  // namespace overlap
