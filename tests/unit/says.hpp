#pragma once

#include <gtest/gtest.h>

#include <initializer_list>
#include <string_view>

namespace overlap::testing {

/// Whether a text has every one of the parts; the failure shows the text.
[[nodiscard]] inline ::testing::AssertionResult says(
    std::string_view text, std::initializer_list<std::string_view> parts) {
  for (const std::string_view part : parts) {
    if (text.find(part) == std::string_view::npos) {
      return ::testing::AssertionFailure() << "'" << text << "' does not say '" << part << "'";
    }
  }
  return ::testing::AssertionSuccess();
}

}  // namespace overlap::testing
