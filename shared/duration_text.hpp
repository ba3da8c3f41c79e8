#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <string_view>

namespace overlap {

/// Reads a duration: decimal digits and, with nothing between, one of `ns`, `us`, `ms`, `s`.
///
/// Thread safety: any.
/// @return empty for anything else: no unit, signs, spaces, fractions, more than 2^63 - 1 ns
[[nodiscard]] std::optional<std::chrono::nanoseconds> parse_duration(
    std::string_view text) noexcept;

/// The shortest exact text: `50us`, `1500ms`, `0s`. `parse_duration` reads it back unchanged.
///
/// Thread safety: any.
/// @pre duration is not negative
[[nodiscard]] std::string format_duration(std::chrono::nanoseconds duration);

}  // namespace overlap
