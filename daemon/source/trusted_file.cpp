#include "daemon/source/trusted_file.hpp"

#include "shared/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <optional>
#include <system_error>

namespace overlap {
namespace {

using Outcome = TrustedText::Outcome;

std::string reason_of(int error_number) { return std::generic_category().message(error_number); }

/// @return nothing if it cannot be read, or is shorter than it was
std::optional<std::string> read_all(const FileDescriptor& file, std::size_t bytes) {
  std::string text(bytes, '\0');
  std::size_t done = 0;
  while (done < bytes) {
    const ssize_t got = ::read(file.get(), text.data() + done, bytes - done);
    if (got < 0 && errno == EINTR) {
      continue;
    }
    if (got <= 0) {
      return std::nullopt;
    }
    done += static_cast<std::size_t>(got);
  }
  return text;
}

TrustedText refused(std::string reason) { return {Outcome::refused, {}, std::move(reason)}; }

}  // namespace

std::string why_not_trusted(const struct stat& status) {
  if (status.st_uid != ::geteuid() && status.st_uid != 0) {
    return "belongs to uid " + std::to_string(status.st_uid) +
           ", neither root nor the user of this process; chown it";
  }
  if ((status.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
    return "can be written by others than its owner; chmod go-w it";
  }
  return {};
}

TrustedText read_trusted_file(const std::string& path, std::size_t max_bytes, LinkRule links) {
  // Without O_NONBLOCK a pipe would make us wait.
  const int flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY;
  const FileDescriptor file(
      ::open(path.c_str(), flags | (links == LinkRule::refuse ? O_NOFOLLOW : 0)));
  if (!file) {
    return errno == ENOENT ? TrustedText{Outcome::absent, {}, "is not there"}
                           : refused("cannot be opened: " + reason_of(errno));
  }
  struct stat status {};
  if (::fstat(file.get(), &status) != 0 || !S_ISREG(status.st_mode)) {
    return refused("is no regular file");
  }
  if (std::string reason = why_not_trusted(status); !reason.empty()) {
    return refused(std::move(reason));
  }
  const auto bytes = static_cast<std::size_t>(status.st_size);
  if (bytes > max_bytes) {
    return refused("has " + std::to_string(bytes) + " bytes; at most " + std::to_string(max_bytes) +
                   " are read");
  }
  auto text = read_all(file, bytes);
  if (!text) {
    return refused("cannot be read, or is being written");
  }
  return {Outcome::read, std::move(*text), {}};
}

}  // namespace overlap
