#include "kernels/imaging/resize.hpp"

#include <algorithm>
#include <cmath>

namespace overlap {
namespace {

/// In 1/2048 of a pixel. All but the quotient is exact in f64, and a quotient that is not half-way
/// is too far from it (1/131070) for its rounding to matter.
std::int64_t position(std::int64_t at, std::int64_t in_size, std::int64_t out_size) {
  const double centre = (static_cast<double>(at) + 0.5) * static_cast<double>(in_size * 2048) /
                        static_cast<double>(out_size);
  const auto nearest = static_cast<std::int64_t>(std::floor(centre + 0.5)) - 1024;
  return std::clamp<std::int64_t>(nearest, 0, (in_size - 1) * 2048);
}

}  // namespace

std::uint64_t ResizeKernel::reference(const ReferenceJob& job) const {
  constexpr std::int64_t kPixelBytes[] = {1, 3, 4};
  const std::int64_t width = job.params[0].i64;
  const std::int64_t height = job.params[1].i64;
  const std::int64_t channels = kPixelBytes[job.params[2].choice_index];
  const std::int64_t out_width = job.params[3].i64;
  const std::int64_t out_height = job.params[4].i64;
  std::uint64_t written = 0;
  for (std::size_t frame = 0; frame < job.input.size();
       frame += static_cast<std::size_t>(width * height * channels)) {
    const auto sample = [&](std::int64_t x, std::int64_t y, std::int64_t channel) {
      const std::int64_t column = std::min(x, width - 1);
      const std::int64_t row = std::min(y, height - 1);
      const std::int64_t at = (row * width + column) * channels + channel;
      return std::to_integer<std::int64_t>(job.input[frame + static_cast<std::size_t>(at)]);
    };
    for (std::int64_t y = 0; y < out_height; ++y) {
      const std::int64_t down = position(y, height, out_height);
      for (std::int64_t i = 0; i < out_width * channels; ++i) {
        const std::int64_t across = position(i / channels, width, out_width);
        std::int64_t sum = 0;
        for (std::int64_t corner = 0; corner < 4; ++corner) {
          const std::int64_t dx = corner % 2;
          const std::int64_t dy = corner / 2;
          const std::int64_t share_x = dx == 1 ? across % 2048 : 2048 - across % 2048;
          const std::int64_t share_y = dy == 1 ? down % 2048 : 2048 - down % 2048;
          sum += share_x * share_y * sample(across / 2048 + dx, down / 2048 + dy, i % channels);
        }
        job.output[written++] = static_cast<std::byte>((sum + 2'097'152) / 4'194'304);
      }
    }
  }
  return written;
}

}  // namespace overlap
