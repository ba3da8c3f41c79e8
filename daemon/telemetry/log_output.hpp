#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace overlap {

/// A descriptor to which text is written without ever waiting for whoever reads it.
///
/// A socket gets non-blocking sends. A pipe or a terminal is opened once more as non-blocking, so
/// that the flags which other processes share with us stay as they are; where that is refused,
/// each write is preceded by a poll and is short enough not to block. A regular file is written
/// as it is. Whoever runs this with a pipe or a socket blocks or ignores `SIGPIPE`.
///
/// Thread safety: restricted: one thread. Owns its descriptor; the caller's stays open.
class LogOutput {
 public:
  /// @throws std::system_error if `descriptor` is not open
  explicit LogOutput(int descriptor);
  /// Opens `path` to append, and makes it if it is not there.
  /// @throws std::system_error naming the path
  explicit LogOutput(const std::string& path);
  ~LogOutput();

  LogOutput(const LogOutput&) = delete;
  LogOutput& operator=(const LogOutput&) = delete;

  /// Takes the whole text or nothing: what did not fit at once is kept and goes first next time.
  ///
  /// @return false if nothing was taken: the reader does not keep up, or the output is broken
  [[nodiscard]] bool write(std::string_view text);

 private:
  [[nodiscard]] std::size_t write_some(std::string_view text) noexcept;
  void adopt(int descriptor);

  int descriptor_ = -1;
  bool is_socket_ = false;
  bool needs_poll_ = false;
  std::string pending_;
};

}  // namespace overlap
