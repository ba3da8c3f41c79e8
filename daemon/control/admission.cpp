#include "daemon/control/admission.hpp"

#include "shared/byte_size.hpp"

#include <algorithm>

namespace overlap {

Admission::Decision Admission::permit(const PeerIdentity& peer) const {
  if (limits_.allowed_users.empty() && limits_.allowed_groups.empty()) {
    return {Verdict::granted, {}};
  }
  const auto& users = limits_.allowed_users;
  const auto& groups = limits_.allowed_groups;
  const bool allowed =
      std::find(users.begin(), users.end(), peer.uid) != users.end() ||
      std::any_of(groups.begin(), groups.end(), [&](gid_t g) { return peer.is_in_group(g); });
  if (allowed) {
    return {Verdict::granted, {}};
  }
  return {Verdict::not_permitted,
          "uid " + std::to_string(peer.uid) +
              " is not among the allowed users and groups; ask the administrator to add it"};
}

Admission::Decision Admission::grant(const PeerIdentity& peer, std::uint64_t bytes) {
  if (channel_count_ >= limits_.max_channels) {
    return {Verdict::full, "all " + std::to_string(limits_.max_channels) +
                               " channels are in use; detach a producer or raise max-channels"};
  }
  const auto found = channels_by_uid_.find(peer.uid);
  if (found != channels_by_uid_.end() && found->second >= limits_.max_channels_per_uid) {
    return {Verdict::full, "uid " + std::to_string(peer.uid) + " already has " +
                               std::to_string(found->second) +
                               " channels; detach one or raise max-channels-per-uid"};
  }
  // No sum that could wrap: `pinned_bytes_` never passes the limit.
  if (bytes > limits_.max_pinned_bytes - pinned_bytes_) {
    const std::uint64_t in_use = pinned_bytes_ - returning_bytes_;
    const bool soon = bytes <= limits_.max_pinned_bytes - in_use;
    return {soon ? Verdict::full_for_now : Verdict::full,
            "the channel needs " + format_bytes(bytes) + ", " + format_bytes(in_use) + " of " +
                format_bytes(limits_.max_pinned_bytes) +
                " are in use; ask for less or raise max-pinned-bytes"};
  }
  ++channel_count_;
  ++channels_by_uid_[peer.uid];
  pinned_bytes_ += bytes;
  return {Verdict::granted, {}};
}

void Admission::start_return(uid_t uid, std::uint64_t bytes) noexcept {
  --channel_count_;
  const auto found = channels_by_uid_.find(uid);
  if (found != channels_by_uid_.end() && --found->second == 0) {
    channels_by_uid_.erase(found);
  }
  returning_bytes_ += bytes;
}

void Admission::finish_return(std::uint64_t bytes) noexcept {
  returning_bytes_ -= bytes;
  pinned_bytes_ -= bytes;
}

}  // namespace overlap
