#pragma once

#include "daemon/options.hpp"

#include <span>
#include <string_view>

namespace overlap {

/// One setting, in the command line and in the file alike.
struct OptionSetting {
  const char* name;
  /// Text of the default; empty if there is no text that would give it.
  const char* default_text;
  const char* help;
  /// @throws OptionValueError
  void (*apply)(std::string_view text, Options& options);
  /// May be given several times: each adds to what there is. Those of the command line take the place
  /// of all of the file's.
  bool repeats = false;
};

/// Every setting, in the order of the help. Thread safety: any.
[[nodiscard]] std::span<const OptionSetting> option_table() noexcept;

}  // namespace overlap
