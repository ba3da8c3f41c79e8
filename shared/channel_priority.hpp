#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace overlap {

/// Which of a device's three classes a channel's jobs belong to. A higher one goes first wherever
/// both wait; 0 is what a producer gets that asks for nothing.
enum class ChannelPriority : std::uint32_t { normal = 0, high = 1, low = 2 };

inline constexpr std::uint32_t kChannelPriorityCount = 3;
inline constexpr std::array kPrioritiesByUrgency{ChannelPriority::high, ChannelPriority::normal,
                                                 ChannelPriority::low};

/// The name of a priority in options and logs; empty for a number that is none.
[[nodiscard]] constexpr std::string_view channel_priority_text(ChannelPriority priority) noexcept {
  switch (priority) {
    case ChannelPriority::normal:
      return "normal";
    case ChannelPriority::high:
      return "high";
    case ChannelPriority::low:
      return "low";
  }
  return {};
}

/// Shares of device time that a channel may ask for among those of its priority.
inline constexpr std::uint32_t kDefaultChannelWeight = 1;
inline constexpr std::uint32_t kMaxChannelWeight = 64;

}  // namespace overlap
