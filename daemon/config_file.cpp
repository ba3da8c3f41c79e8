#include "daemon/config_file.hpp"

#include <algorithm>
#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <utility>

namespace overlap {
namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";
constexpr std::string_view kBlanks = " \t";

std::string message(const std::string& file, std::size_t line, const std::string& key,
                    const std::string& reason) {
  std::string text = file.empty() ? "command line" : file;
  if (line != 0) {
    text += ":" + std::to_string(line);
  }
  return text + ": " + (key.empty() ? "" : key + ": ") + reason;
}

std::string_view trimmed(std::string_view text) {
  const std::size_t first = text.find_first_not_of(kBlanks);
  if (first == std::string_view::npos) {
    return {};
  }
  return text.substr(first, text.find_last_not_of(kBlanks) - first + 1);
}

bool is_key(std::string_view text) {
  return !text.empty() && text.front() != '-' &&
         std::all_of(text.begin(), text.end(), [](char character) {
           return (character >= 'a' && character <= 'z') ||
                  (character >= '0' && character <= '9') || character == '-';
         });
}

bool is_quote(char character) { return character == '"' || character == '\''; }

/// Empty if the value is fine.
std::string why_not_value(std::string_view value) {
  if (value.empty()) {
    return "the value is empty; leave the line out to get the default";
  }
  if (is_quote(value.front()) || is_quote(value.back())) {
    return "quotes are not used here; write the value without them";
  }
  if (std::any_of(value.begin(), value.end(), [](char character) {
        return (character >= '\0' && character < ' ' && character != '\t') || character == '\x7f';
      })) {
    return "the value has a control character in it";
  }
  if (value.front() == '#' || value.find(" #") != std::string_view::npos ||
      value.find("\t#") != std::string_view::npos) {
    return "a comment needs a line of its own";
  }
  return {};
}

}  // namespace

OptionsError::OptionsError(std::string file, std::size_t line, std::string key,
                           const std::string& reason)
    : std::runtime_error(message(file, line, key, reason)),
      file_(std::move(file)),
      line_(line),
      key_(std::move(key)) {}

std::vector<ConfigEntry> parse_config(std::string_view text, const std::string& file,
                                      std::span<const std::string_view> repeatable) {
  std::vector<ConfigEntry> entries;
  if (text.substr(0, kByteOrderMark.size()) == kByteOrderMark) {
    text.remove_prefix(kByteOrderMark.size());
  }
  for (std::size_t line = 1; !text.empty(); ++line) {
    const std::size_t length = std::min(text.find('\n'), text.size());
    std::string_view content = text.substr(0, length);
    text.remove_prefix(std::min(length + 1, text.size()));
    if (!content.empty() && content.back() == '\r') {
      content.remove_suffix(1);
    }
    content = trimmed(content);
    if (content.empty() || content.front() == '#') {
      continue;
    }
    if (content.front() == '[') {
      throw OptionsError(file, line, "", "there are no sections; every key stands for itself");
    }
    const std::size_t equals = content.find('=');
    const std::string key(trimmed(content.substr(0, equals)));
    if (equals == std::string_view::npos) {
      throw OptionsError(file, line, "",
                         "'" + key + "' is not of the form 'key = value' (comments start with #)");
    }
    if (!is_key(key)) {
      throw OptionsError(file, line, key, "no such key; keys are lower-case words joined by '-'");
    }
    const std::string_view value = trimmed(content.substr(equals + 1));
    if (const std::string reason = why_not_value(value); !reason.empty()) {
      throw OptionsError(file, line, key, reason);
    }
    const bool repeats = std::ranges::find(repeatable, key) != repeatable.end();
    for (const ConfigEntry& entry : entries) {
      if (entry.key == key && !repeats) {
        throw OptionsError(file, line, key,
                           "given twice; the first is in line " + std::to_string(entry.line));
      }
    }
    entries.push_back({.line = line, .key = key, .value = std::string(value)});
  }
  return entries;
}

std::vector<ConfigEntry> read_config_file(const std::string& file,
                                          std::span<const std::string_view> repeatable) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream) {
    const std::error_code reason(errno, std::generic_category());
    throw OptionsError(file, 0, "", "cannot be opened: " + reason.message());
  }
  std::string text;
  try {
    text.assign(std::istreambuf_iterator<char>(stream), std::istreambuf_iterator<char>());
  } catch (const std::ios_base::failure& failure) {
    // A directory, for one, opens and only then cannot be read.
    throw OptionsError(file, 0, "", std::string("cannot be read: ") + failure.what());
  }
  return parse_config(text, file, repeatable);
}

}  // namespace overlap
