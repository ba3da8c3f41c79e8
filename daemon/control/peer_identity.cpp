#include "daemon/control/peer_identity.hpp"

#include <grp.h>
#include <pwd.h>
#include <sys/socket.h>
#include <algorithm>
#include <cerrno>
#include <charconv>

namespace overlap {
namespace {

std::optional<unsigned> parse_number(const std::string& text) {
  unsigned value = 0;
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, value);
  return error == std::errc{} && stop == end ? std::optional(value) : std::nullopt;
}

}  // namespace

bool PeerIdentity::is_in_group(gid_t group) const noexcept {
  return gid == group ||
         std::find(other_groups.begin(), other_groups.end(), group) != other_groups.end();
}

std::optional<PeerIdentity> identify_peer(const FileDescriptor& socket) {
  ucred credentials{};
  socklen_t bytes = sizeof credentials;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &credentials, &bytes) != 0) {
    return std::nullopt;
  }
  PeerIdentity peer{credentials.pid, credentials.uid, credentials.gid, {}};
  peer.other_groups.resize(64);
  for (int attempt = 0; attempt < 2; ++attempt) {
    bytes = static_cast<socklen_t>(peer.other_groups.size() * sizeof(gid_t));
    const int result =
        ::getsockopt(socket.get(), SOL_SOCKET, SO_PEERGROUPS, peer.other_groups.data(), &bytes);
    peer.other_groups.resize(bytes / sizeof(gid_t));
    if (result == 0) {
      return peer;
    }
    if (errno != ERANGE) {
      break;
    }
  }
  // Linux before 4.13 does not tell: the primary group has to do.
  peer.other_groups.clear();
  return peer;
}

std::optional<uid_t> find_user(const std::string& name_or_number) {
  if (const passwd* entry = ::getpwnam(name_or_number.c_str())) {
    return entry->pw_uid;
  }
  return parse_number(name_or_number);
}

std::optional<gid_t> find_group(const std::string& name_or_number) {
  if (const group* entry = ::getgrnam(name_or_number.c_str())) {
    return entry->gr_gid;
  }
  return parse_number(name_or_number);
}

}  // namespace overlap
