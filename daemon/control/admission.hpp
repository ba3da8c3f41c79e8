#pragma once

#include "daemon/control/channel_share.hpp"
#include "daemon/control/peer_identity.hpp"
#include "shared/channel_geometry.hpp"

#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace overlap {

/// Who may attach, and how much.
struct AdmissionLimits {
  GeometryLimits geometry;
  std::uint64_t max_pinned_bytes = 0;
  std::uint32_t max_channels = 0;
  std::uint32_t max_channels_per_uid = 0;
  ShareLimits share;
  /// Both empty: everyone who can reach the socket.
  std::vector<uid_t> allowed_users;
  std::vector<gid_t> allowed_groups;
};

/// The books of what is granted. Restricted: the control thread.
class Admission {
 public:
  explicit Admission(AdmissionLimits limits) : limits_(std::move(limits)) {}

  enum class Verdict : std::uint8_t {
    granted,
    not_permitted,
    /// No room now, nor soon.
    full,
    /// Room once memory that is being given back has gone.
    full_for_now,
  };
  struct Decision {
    Verdict verdict;
    /// Why not; empty when granted.
    std::string text;
  };

  [[nodiscard]] const AdmissionLimits& limits() const noexcept { return limits_; }

  /// Whether this peer may use the daemon at all.
  [[nodiscard]] Decision permit(const PeerIdentity& peer) const;
  /// Enters a channel in the books, or says why not.
  [[nodiscard]] Decision grant(const PeerIdentity& peer, std::uint64_t bytes);
  /// The channel has ended; its memory is on its way back.
  void start_return(uid_t uid, std::uint64_t bytes) noexcept;
  /// The memory is back.
  void finish_return(std::uint64_t bytes) noexcept;

  [[nodiscard]] std::uint32_t channel_count() const noexcept { return channel_count_; }
  /// Granted and not yet given back.
  [[nodiscard]] std::uint64_t pinned_bytes() const noexcept { return pinned_bytes_; }

 private:
  AdmissionLimits limits_;
  std::map<uid_t, std::uint32_t> channels_by_uid_;
  std::uint32_t channel_count_ = 0;
  std::uint64_t pinned_bytes_ = 0;
  std::uint64_t returning_bytes_ = 0;
};

}  // namespace overlap
