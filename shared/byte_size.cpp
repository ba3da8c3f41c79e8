#include "shared/byte_size.hpp"

#include <array>
#include <charconv>
#include <limits>
#include <system_error>

namespace overlap {
namespace {

struct Unit {
  std::string_view name;
  std::uint64_t size_bytes;
};

constexpr std::array<Unit, 7> kUnits{{
    {"", 1},
    {"K", std::uint64_t{1} << 10U},
    {"KiB", std::uint64_t{1} << 10U},
    {"M", std::uint64_t{1} << 20U},
    {"MiB", std::uint64_t{1} << 20U},
    {"G", std::uint64_t{1} << 30U},
    {"GiB", std::uint64_t{1} << 30U},
}};

}  // namespace

std::optional<std::uint64_t> parse_byte_size(std::string_view text) noexcept {
  std::uint64_t count = 0;
  const char* const end = text.data() + text.size();
  // For an unsigned type from_chars takes digits only: no sign, no space, no prefix.
  const auto [rest, error] = std::from_chars(text.data(), end, count);
  if (error != std::errc{}) {
    return std::nullopt;
  }
  const std::string_view unit_name(rest, static_cast<std::size_t>(end - rest));
  for (const Unit& unit : kUnits) {
    if (unit.name == unit_name) {
      if (count > std::numeric_limits<std::uint64_t>::max() / unit.size_bytes) {
        return std::nullopt;
      }
      return count * unit.size_bytes;
    }
  }
  return std::nullopt;
}

std::string format_bytes(std::uint64_t size_bytes) {
  for (const char* const name : {"GiB", "MiB", "KiB"}) {
    const std::uint64_t unit_bytes = *parse_byte_size(std::string("1") + name);
    if (size_bytes != 0 && size_bytes % unit_bytes == 0) {
      return std::to_string(size_bytes / unit_bytes) + name;
    }
  }
  return std::to_string(size_bytes);
}

}  // namespace overlap
