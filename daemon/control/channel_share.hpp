#pragma once

#include "shared/channel_priority.hpp"
#include "shared/control_protocol.hpp"

#include <cstdint>
#include <string>
#include <variant>

namespace overlap {

/// A channel's claim on the device among the others.
struct ChannelShare {
  ChannelPriority priority = ChannelPriority::normal;
  std::uint32_t weight = kDefaultChannelWeight;

  friend bool operator==(const ChannelShare&, const ChannelShare&) = default;
};

/// The most that a producer may ask for.
struct ShareLimits {
  ChannelPriority max_priority = ChannelPriority::high;
  /// 1 to kMaxChannelWeight
  std::uint32_t max_weight = kMaxChannelWeight;
};

/// Why not, for the producer to read.
struct ShareRefusal {
  AttachCode code;
  std::string text;
};

/// The share that a request gets. Weight 0 asks for the default one. `normal`, which is what a
/// producer sends that asks for nothing, becomes `low` where nothing above that is allowed.
[[nodiscard]] std::variant<ChannelShare, ShareRefusal> plan_share(const AttachRequest& request,
                                                                  const ShareLimits& limits);

}  // namespace overlap
