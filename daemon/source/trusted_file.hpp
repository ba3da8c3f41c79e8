#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

struct stat;

namespace overlap {

/// What came of reading a file.
struct TrustedText {
  enum class Outcome : std::uint8_t { read, absent, refused };

  Outcome outcome = Outcome::read;
  std::string text;
  /// Refused: why, as a predicate (`can be written by others than its owner`).
  std::string reason;
};

/// Whether a link at the end of the path is followed.
enum class LinkRule : std::uint8_t { follow, refuse };

/// Reads a file that nobody but this user and root can have written: it belongs to one of them, and
/// no other may write it. It is checked through the descriptor that is read. Thread safety: any.
[[nodiscard]] TrustedText read_trusted_file(const std::string& path, std::size_t max_bytes,
                                            LinkRule links);

/// Empty if nobody but this user and root can have written what has that status; else a predicate.
[[nodiscard]] std::string why_not_trusted(const struct stat& status);

}  // namespace overlap
