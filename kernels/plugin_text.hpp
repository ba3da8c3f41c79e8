#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace overlap {

/// Texts of a plug-in, before anything is known of them. Thread safety: any.

/// At most `most_bytes` of a zero-terminated text; empty for null.
[[nodiscard]] std::string bounded(const char* text, std::size_t most_bytes);

/// Whether it is 1 to `most_bytes` of a-z, 0-9 and _.
[[nodiscard]] bool is_plain_name(const char* text, std::size_t most_bytes);

/// Whether it has no control character: UTF-8 of any language may stand in a help.
[[nodiscard]] bool is_printable(std::string_view text) noexcept;

/// With every control character made a question mark.
[[nodiscard]] std::string printable(std::string_view text);

}  // namespace overlap
