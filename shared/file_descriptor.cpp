#include "shared/file_descriptor.hpp"

#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>
#include <array>
#include <cerrno>
#include <cstdint>
#include <system_error>

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

WakePipe make_wake_pipe() {
  std::array<int, 2> ends{};
  if (::pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
    throw std::system_error(errno, std::generic_category(), "pipe2");
  }
  return {FileDescriptor(ends[0]), FileDescriptor(ends[1])};
}

void ring(int descriptor) noexcept {
  const std::uint64_t one = 1;
  ssize_t written = 0;
  do {
    written = ::write(descriptor, &one, sizeof one);
  } while (written < 0 && errno == EINTR);
}

void silence(int descriptor) noexcept {
  // An eventfd gives its whole count in one read of 8 bytes, a pipe as many rings as fit.
  std::array<std::uint64_t, 64> rings;
  ssize_t got = 0;
  do {
    got = ::read(descriptor, rings.data(), sizeof rings);
  } while (got == sizeof rings || (got < 0 && errno == EINTR));
}

}  // namespace overlap
