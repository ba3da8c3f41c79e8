#include "daemon/option_value.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <system_error>

namespace overlap {
namespace {

std::string quoted(std::string_view text) { return "'" + std::string(text) + "'"; }

/// Digits and nothing else, in `base`; empty also for what does not fit 64 bits.
std::optional<std::uint64_t> read_digits(std::string_view text, int base) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value, base);
  if (error != std::errc{} || rest != end) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

std::uint32_t read_count(std::string_view text, std::uint32_t minimum, std::uint32_t maximum) {
  const auto value = read_digits(text, 10);
  if (!value || *value < minimum || *value > maximum) {
    throw OptionValueError(quoted(text) + " is not a whole number from " + std::to_string(minimum) +
                           " to " + std::to_string(maximum));
  }
  return static_cast<std::uint32_t>(*value);
}

std::optional<std::uint32_t> read_count_or_auto(std::string_view text, std::uint32_t minimum,
                                                std::uint32_t maximum) {
  if (text == "auto") {
    return std::nullopt;
  }
  try {
    return read_count(text, minimum, maximum);
  } catch (const OptionValueError& error) {
    throw OptionValueError(std::string(error.what()) + ", and not 'auto'");
  }
}

std::uint64_t read_bytes(std::string_view text, std::uint64_t minimum, std::uint64_t maximum) {
  const auto value = parse_byte_size(text);
  if (!value || *value < minimum || *value > maximum) {
    throw OptionValueError(quoted(text) + " is not a size from " + format_bytes(minimum) + " to " +
                           format_bytes(maximum) +
                           "; write digits and at most one of K, M, G, KiB, MiB, GiB, no spaces");
  }
  return *value;
}

std::chrono::nanoseconds read_duration(std::string_view text, std::chrono::nanoseconds maximum) {
  const auto value = parse_duration(text);
  if (!value || *value > maximum) {
    throw OptionValueError(quoted(text) + " is not a time from 0s to " + format_duration(maximum) +
                           "; write digits and one of ns, us, ms, s, no spaces");
  }
  return *value;
}

std::uint32_t read_mode(std::string_view text) {
  const bool leading_zero = text.size() == 4 && text.front() == '0';
  const auto value = read_digits(text, 8);
  if (!value || (text.size() != 3 && !leading_zero)) {
    throw OptionValueError(quoted(text) + " is not a mode of three octal digits, such as 0660");
  }
  return static_cast<std::uint32_t>(*value);
}

bool read_yes_no(std::string_view text) {
  constexpr std::array<std::string_view, 2> kWords{"no", "yes"};
  return read_word(text, kWords) == 1;
}

std::vector<std::string> read_names(std::string_view text) {
  std::vector<std::string> names;
  if (text == "any") {
    return names;
  }
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(',', start), text.size());
    const std::string_view name = text.substr(start, end - start);
    if (name.empty() || name.find_first_of(" \t") != std::string_view::npos) {
      throw OptionValueError(quoted(text) +
                             " is not a list of names separated by commas without spaces");
    }
    names.emplace_back(name);
    start = end + 1;
  }
  return names;
}

std::vector<std::string> read_paths(std::string_view text) {
  std::vector<std::string> paths;
  for (std::size_t start = 0; start <= text.size();) {
    const std::size_t end = std::min(text.find(':', start), text.size());
    if (end == start) {
      throw OptionValueError(quoted(text) +
                             " has an empty path in it; write FOLDER or FOLDER:FOLDER");
    }
    paths.emplace_back(text.substr(start, end - start));
    start = end + 1;
  }
  return paths;
}

std::size_t read_word(std::string_view text, std::span<const std::string_view> words) {
  const auto found = std::find(words.begin(), words.end(), text);
  if (found == words.end()) {
    std::string allowed;
    for (const std::string_view word : words) {
      allowed += (allowed.empty() ? "" : ", ") + std::string(word);
    }
    throw OptionValueError(quoted(text) + " is not one of " + allowed);
  }
  return static_cast<std::size_t>(found - words.begin());
}

}  // namespace overlap
