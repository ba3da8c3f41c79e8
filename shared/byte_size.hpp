#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace overlap {

/// Reads a size: decimal digits and, with nothing between, one of `K`, `M`, `G`, `KiB`, `MiB`,
/// `GiB` (`K` and `KiB` are both 1024 bytes). No unit means bytes.
///
/// Thread safety: any.
/// @return empty for anything else: signs, spaces, fractions, hexadecimal, other units, 2^64 and up
[[nodiscard]] std::optional<std::uint64_t> parse_byte_size(std::string_view text) noexcept;

/// The shortest exact text: `4MiB`, `1536`, `0`. `parse_byte_size` reads it back unchanged.
///
/// Thread safety: any.
[[nodiscard]] std::string format_bytes(std::uint64_t size_bytes);

}  // namespace overlap
