#pragma once

#include "tests/bench/report.hpp"

#include <string>

namespace overlap::bench {

/// Whether this build can write JSON.
[[nodiscard]] bool can_write_json() noexcept;

/// One object: `facts` (names to texts), `notes` (texts), and `tables`, each with `name`, `title` and
/// `rows` of objects by the columns' keys. A spread is an object of `median`, `least` and `most`; what
/// is not known is null. Sizes are bytes, shares are of 1.
/// @throws std::runtime_error if this build cannot
[[nodiscard]] std::string to_json(const Report& report);

}  // namespace overlap::bench
