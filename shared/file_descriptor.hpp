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

/// Adds 1 to an eventfd. A saturated one is already readable, so its EAGAIN is success.
/// Any thread; async-signal-safe.
void ring(int eventfd) noexcept;

/// Takes the count of an eventfd back to 0. Any thread.
void silence(int eventfd) noexcept;

}  // namespace overlap
