#include "kernels/source/declaration_line.hpp"

#include <algorithm>

namespace overlap {
namespace {

constexpr std::string_view kBlanks = " \t";

std::string_view without_blanks(std::string_view text) noexcept {
  return text.substr(std::min(text.find_first_not_of(kBlanks), text.size()));
}

}  // namespace

std::optional<std::string_view> declaration_text(std::string_view line) noexcept {
  constexpr std::string_view kMark = "//!";
  line = without_blanks(line);
  if (!line.starts_with(kMark)) {
    return std::nullopt;
  }
  return line.substr(kMark.size());
}

std::optional<std::string_view> include_text(std::string_view line) noexcept {
  constexpr std::string_view kWord = "include";
  line = without_blanks(line);
  if (!line.starts_with('#')) {
    return std::nullopt;
  }
  line = without_blanks(line.substr(1));
  if (!line.starts_with(kWord)) {
    return std::nullopt;
  }
  return without_blanks(line.substr(kWord.size()));
}

std::optional<std::vector<DeclarationWord>> split_words(std::string_view text) {
  std::vector<DeclarationWord> words;
  for (text = without_blanks(text); !text.empty(); text = without_blanks(text)) {
    const bool is_quoted = text.front() == '"';
    std::size_t end = text.find_first_of(" \t\"");
    if (is_quoted) {
      text.remove_prefix(1);
      end = text.find('"');
      if (end == std::string_view::npos) {
        return std::nullopt;
      }
    }
    end = std::min(end, text.size());
    words.push_back({std::string(text.substr(0, end)), is_quoted});
    text.remove_prefix(std::min(end + (is_quoted ? 1 : 0), text.size()));
    if (!text.empty() && kBlanks.find(text.front()) == std::string_view::npos) {
      return std::nullopt;
    }
  }
  return words;
}

std::vector<std::string_view> split_lines(std::string_view text) {
  std::vector<std::string_view> lines;
  while (!text.empty()) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (line.ends_with('\r')) {
      line.remove_suffix(1);
    }
    lines.push_back(line);
  }
  return lines;
}

}  // namespace overlap
