#include "kernels/plugin_text.hpp"

#include <algorithm>
#include <cstring>

namespace overlap {
namespace {

bool is_control(char character) noexcept {
  const auto byte = static_cast<unsigned char>(character);
  return byte < 0x20 || byte == 0x7f;
}

}  // namespace

std::string bounded(const char* text, std::size_t most_bytes) {
  return text == nullptr ? std::string() : std::string(text, ::strnlen(text, most_bytes));
}

bool is_plain_name(const char* text, std::size_t most_bytes) {
  const std::string name = bounded(text, most_bytes + 1);
  return !name.empty() && name.size() <= most_bytes &&
         std::all_of(name.begin(), name.end(), [](char character) {
           return (character >= 'a' && character <= 'z') ||
                  (character >= '0' && character <= '9') || character == '_';
         });
}

bool is_printable(std::string_view text) noexcept {
  return std::none_of(text.begin(), text.end(), is_control);
}

std::string printable(std::string_view text) {
  std::string result(text);
  std::replace_if(result.begin(), result.end(), is_control, '?');
  return result;
}

}  // namespace overlap
