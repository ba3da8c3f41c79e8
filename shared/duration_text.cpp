#include "shared/duration_text.hpp"

#include <array>
#include <charconv>
#include <cstdint>
#include <limits>
#include <system_error>

namespace overlap {
namespace {

struct Unit {
  std::string_view name;
  std::int64_t duration_ns;
};

/// Largest first, so that the first one that divides a duration gives its shortest text.
constexpr std::array<Unit, 4> kUnits{{
    {"s", 1'000'000'000},
    {"ms", 1'000'000},
    {"us", 1'000},
    {"ns", 1},
}};

}  // namespace

std::optional<std::chrono::nanoseconds> parse_duration(std::string_view text) noexcept {
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
      constexpr auto kLargestNs =
          static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
      if (count > kLargestNs / static_cast<std::uint64_t>(unit.duration_ns)) {
        return std::nullopt;
      }
      return std::chrono::nanoseconds(static_cast<std::int64_t>(count) * unit.duration_ns);
    }
  }
  return std::nullopt;
}

std::string format_duration(std::chrono::nanoseconds duration) {
  const std::int64_t duration_ns = duration.count();
  for (const Unit& unit : kUnits) {
    if (duration_ns % unit.duration_ns == 0) {
      return std::to_string(duration_ns / unit.duration_ns) + std::string(unit.name);
    }
  }
  return std::to_string(duration_ns) + "ns";
}

}  // namespace overlap
