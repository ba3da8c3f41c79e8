#pragma once

#include "kernels/kernel.hpp"

#include <string>
#include <string_view>
#include <variant>

namespace overlap {

using ValueOrRefusal = std::variant<overlap_param_value, Refusal>;

/// Reads `text` as a value of `parameter`. Nothing but the value may stand there: no spaces, no
/// plus sign, no unit. Independent of the locale. Thread safety: any.
/// @return a refusal that names the text and what is allowed if it is no such value, not finite,
///         beyond what 64 bits hold, or out of the declared range
[[nodiscard]] ValueOrRefusal parse_value(const Parameter& parameter, std::string_view text);

/// The value as the shortest text that `parse_value` reads back to the same bits.
/// @pre for a choice, the index is one of the declaration's
[[nodiscard]] std::string format_value(const Parameter& parameter, overlap_param_value value);

/// What a parameter takes: `a whole number from 1 to 100000 (passes, default 1)`.
[[nodiscard]] std::string describe_values(const Parameter& parameter);

/// Text from outside made fit for a message: in quotes, at most 64 bytes of it, every byte that is
/// not printable ASCII as `\xNN`.
[[nodiscard]] std::string quoted(std::string_view text);

}  // namespace overlap
