#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace overlap::photo {

/// Interleaved 8-bit samples, row by row from the top: gray, RGB or RGBA.
struct Picture {
  std::uint32_t width = 0;
  std::uint32_t height = 0;
  /// Bytes of a pixel: 1, 3 or 4.
  std::uint32_t channels = 0;
  std::vector<std::byte> samples{};

  bool operator==(const Picture&) const = default;
};

/// @throws std::runtime_error naming the file and why it cannot be written
void write_png(const std::string& path, const Picture& picture);

/// @throws std::runtime_error naming the file and why it cannot be read, also if it is no picture of
///         the above kinds
[[nodiscard]] Picture read_png(const std::string& path);

}  // namespace overlap::photo
