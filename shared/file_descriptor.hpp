#pragma once

#include <utility>

namespace overlap {

/// Owns one file descriptor. Move-only; a moved-from object is empty (-1).
class FileDescriptor {
 public:
  FileDescriptor() noexcept = default;
  /// Takes ownership; negative means empty.
  explicit FileDescriptor(int fd) noexcept : fd_(fd < 0 ? -1 : fd) {}
  FileDescriptor(FileDescriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    if (this != &other) {
      reset();
      fd_ = std::exchange(other.fd_, -1);
    }
    return *this;
  }
  FileDescriptor(const FileDescriptor&) = delete;
  FileDescriptor& operator=(const FileDescriptor&) = delete;
  ~FileDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return fd_; }
  [[nodiscard]] explicit operator bool() const noexcept { return fd_ >= 0; }
  /// Gives ownership away.
  [[nodiscard]] int release() noexcept { return std::exchange(fd_, -1); }
  void reset() noexcept;

 private:
  int fd_ = -1;
};

/// A non-blocking, close-on-exec eventfd with count 0.
/// @throws std::system_error
[[nodiscard]] FileDescriptor make_eventfd();

/// A pipe to wake another process with: `ring` the one end, watch and `silence` the other.
///
/// Not an eventfd: that has one open file on both sides, and a hostile peer could make it blocking and
/// saturate it, so that ringing would hang. The ends of a pipe are files of their own.
struct WakePipe {
  FileDescriptor read_end;
  FileDescriptor write_end;
};

/// Both ends non-blocking and close-on-exec.
/// @throws std::system_error
[[nodiscard]] WakePipe make_wake_pipe();

/// Makes an eventfd, or the other end of a wake pipe, readable. One that takes no more is readable
/// already, so its EAGAIN is success. Any thread; async-signal-safe but for `errno`.
/// @pre SIGPIPE is blocked or ignored where the peer of a pipe may have gone
void ring(int descriptor) noexcept;

/// Makes an eventfd or the read end of a wake pipe unreadable until the next ring. Any thread.
void silence(int descriptor) noexcept;

}  // namespace overlap
