#include "kernels/imaging/sobel.hpp"

#include <cstdlib>

namespace overlap {
namespace {

/// Walks to the pixel mirror by mirror, as one would with a finger; -1 for a zero.
std::int64_t walk(std::uint64_t border, std::int64_t at, std::int64_t size) {
  while (at < 0 || at >= size) {
    switch (border) {
      case 0:
        if (size == 1) {
          return 0;
        }
        at = at < 0 ? -at : 2 * (size - 1) - at;
        break;
      case 1:
        at = at < 0 ? -at - 1 : 2 * size - 1 - at;
        break;
      case 2:
        at = at < 0 ? 0 : size - 1;
        break;
      default:
        return -1;
    }
  }
  return at;
}

/// The largest m with m - 1/2 below the root, by counting.
int nearest_root(int square) {
  int m = 0;
  while (m < 255 && m * m + m < square) {
    ++m;
  }
  return m;
}

}  // namespace

std::uint64_t SobelKernel::reference(const ReferenceJob& job) const {
  constexpr int kSmooth[] = {1, 2, 1};
  const std::int64_t width = job.params[0].i64;
  const std::int64_t height = job.params[1].i64;
  const std::uint64_t output = job.params[3].choice_index;
  const std::uint64_t border = job.params[4].choice_index;
  std::uint64_t written = 0;
  for (std::uint64_t frame = 0; frame < job.input.size();
       frame += static_cast<std::uint64_t>(width * height)) {
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        int gx = 0;
        int gy = 0;
        for (int dy = -1; dy <= 1; ++dy) {
          for (int dx = -1; dx <= 1; ++dx) {
            const std::int64_t row = walk(border, y + dy, height);
            const std::int64_t column = walk(border, x + dx, width);
            const int sample =
                row < 0 || column < 0
                    ? 0
                    : std::to_integer<int>(
                          job.input[frame + static_cast<std::uint64_t>(row * width + column)]);
            gx += dx * kSmooth[dy + 1] * sample;
            gy += dy * kSmooth[dx + 1] * sample;
          }
        }
        int value = nearest_root(gx * gx + gy * gy);
        if (output != 0) {
          const int eighths = (output == 1 ? gx : gy) + 1024 + 4;
          value = eighths / 8 > 255 ? 255 : eighths / 8;
        }
        job.output[written++] = static_cast<std::byte>(value);
      }
    }
  }
  return written;
}

}  // namespace overlap
