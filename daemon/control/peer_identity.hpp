#pragma once

#include "shared/file_descriptor.hpp"

#include <sys/types.h>
#include <optional>
#include <string>
#include <vector>

namespace overlap {

/// Who is at the other end of a Unix socket, as the kernel says.
struct PeerIdentity {
  /// For logs alone: numbers are reused.
  pid_t pid = 0;
  uid_t uid = 0;
  gid_t gid = 0;
  std::vector<gid_t> other_groups;

  [[nodiscard]] bool is_in_group(gid_t group) const noexcept;
};

/// @return none if the kernel does not say
[[nodiscard]] std::optional<PeerIdentity> identify_peer(const FileDescriptor& socket);

/// A user by name or number; none if there is no such user.
[[nodiscard]] std::optional<uid_t> find_user(const std::string& name_or_number);
/// A group by name or number; none if there is no such group.
[[nodiscard]] std::optional<gid_t> find_group(const std::string& name_or_number);

}  // namespace overlap
