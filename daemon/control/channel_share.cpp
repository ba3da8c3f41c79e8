#include "daemon/control/channel_share.hpp"

#include <string_view>

namespace overlap {
namespace {

/// Its place from the lowest up: the numbers are in the order of their invention.
constexpr int rank(ChannelPriority priority) noexcept {
  switch (priority) {
    case ChannelPriority::low:
      return 0;
    case ChannelPriority::normal:
      return 1;
    case ChannelPriority::high:
      return 2;
  }
  return 3;
}

std::string named(ChannelPriority priority) {
  return std::string(channel_priority_text(priority)) + " (" +
         std::to_string(static_cast<std::uint32_t>(priority)) + ")";
}

}  // namespace

std::variant<ChannelShare, ShareRefusal> plan_share(const AttachRequest& request,
                                                    const ShareLimits& limits) {
  ChannelShare share{request.priority,
                     request.weight == 0 ? kDefaultChannelWeight : request.weight};
  if (channel_priority_text(share.priority).empty()) {
    return ShareRefusal{AttachCode::feature_missing,
                        "priority " + std::to_string(static_cast<std::uint32_t>(share.priority)) +
                            " is not known; there are " + named(ChannelPriority::normal) + ", " +
                            named(ChannelPriority::high) + " and " + named(ChannelPriority::low)};
  }
  if (share.priority == ChannelPriority::normal &&
      rank(limits.max_priority) < rank(share.priority)) {
    share.priority = limits.max_priority;
  }
  if (rank(share.priority) > rank(limits.max_priority)) {
    return ShareRefusal{AttachCode::not_permitted,
                        "priority " + named(share.priority) + " is above " +
                            named(limits.max_priority) +
                            ", the highest here; ask for that one or raise max-priority"};
  }
  if (share.weight > limits.max_weight) {
    return ShareRefusal{
        AttachCode::not_permitted,
        "weight " + std::to_string(share.weight) + " is not among 1 to " +
            std::to_string(limits.max_weight) +
            (limits.max_weight < kMaxChannelWeight ? "; ask for one of those or raise max-weight"
                                                   : "; ask for one of those")};
  }
  return share;
}

}  // namespace overlap
