#include "shared/file_descriptor.hpp"

#include <cerrno>
#include <cstdint>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>

namespace overlap {

void FileDescriptor::reset() noexcept {
  if (fd_ >= 0) {
    // EINTR included: Linux has freed the number by then, so a second close could hit a stranger.
    ::close(fd_);
    fd_ = -1;
  }
}

FileDescriptor make_eventfd() {
  FileDescriptor fd(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!fd) {
    throw std::system_error(errno, std::generic_category(), "eventfd");
  }
  return fd;
}

void ring(int eventfd) noexcept {
  const std::uint64_t one = 1;
  ssize_t written = 0;
  do {
    written = ::write(eventfd, &one, sizeof one);
  } while (written < 0 && errno == EINTR);
}

void silence(int eventfd) noexcept {
  std::uint64_t count = 0;
  ssize_t got = 0;
  do {
    got = ::read(eventfd, &count, sizeof count);
  } while (got < 0 && errno == EINTR);
}

}  // namespace overlap
