#pragma once

#include "shared/file_descriptor.hpp"

#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>

namespace overlap {

/// The daemon cannot have its socket. Says what is in the way and what to do; nothing was deleted.
class ListenerError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The control socket in the file system.
///
/// A lock file beside it (`<path>.lock`) decides who may replace the socket, so that two daemons that
/// start at once cannot take a live one's. A stale socket, one that refuses connections, is replaced;
/// a live one, a file, a folder or a link is left alone.
class Listener {
 public:
  /// @param mode permission bits of the socket
  /// @throws ListenerError
  Listener(std::string path, std::uint32_t mode);
  /// Removes the socket, if it still is ours, and the lock file.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  [[nodiscard]] int descriptor() const noexcept { return socket_.get(); }
  [[nodiscard]] const std::string& path() const noexcept { return path_; }

  /// What `accept` gave: a connection, nothing now, or an errno of want (EMFILE and its like).
  struct Accepted {
    FileDescriptor socket;
    int error_number = 0;
  };
  [[nodiscard]] Accepted accept();

 private:
  void lock();
  void clear_stale_socket() const;
  void bind_and_listen(std::uint32_t mode);

  std::string path_;
  FileDescriptor lock_;
  FileDescriptor socket_;
  std::uint64_t device_ = 0;
  std::uint64_t inode_ = 0;
};

}  // namespace overlap
