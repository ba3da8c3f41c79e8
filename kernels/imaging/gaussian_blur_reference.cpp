#include "kernels/imaging/gaussian_blur.hpp"

#include <cmath>
#include <string>
#include <vector>

namespace overlap {
namespace {

/// All weights from one side to the other, in 1/65536.
std::vector<std::int64_t> whole_gaussian(double sigma) {
  const auto radius = static_cast<std::int64_t>(std::ceil(3.0 * sigma));
  double total = 0.0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    total += std::exp(-0.5 * static_cast<double>(k * k) / (sigma * sigma));
  }
  std::vector<std::int64_t> weights;
  std::int64_t sum = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    const double exact = std::exp(-0.5 * static_cast<double>(k * k) / (sigma * sigma)) / total;
    weights.push_back(std::llround(exact * 65'536.0));
    sum += weights.back();
  }
  const auto middle = static_cast<std::size_t>(radius);
  weights[middle] += 65'536 - sum;
  if (weights[middle] == 65'536) {
    weights[middle - 1] = weights[middle + 1] = 1;
    weights[middle] = 65'534;
  }
  return weights;
}

/// Which sample stands for number `at` of `size`: written out as far as it is asked for.
std::int64_t beyond(std::uint64_t border, std::int64_t at, std::int64_t size) {
  if (border == 3) {
    return at < 0 || at >= size ? -1 : at;
  }
  if (border == 2) {
    return at < 0 ? 0 : at >= size ? size - 1 : at;
  }
  std::int64_t position = 0;
  std::int64_t step = at < 0 ? -1 : 1;
  for (std::int64_t moved = 0; moved != at; moved += at < 0 ? -1 : 1) {
    const std::int64_t next = position + step;
    if (next >= 0 && next < size) {
      position = next;
    } else {
      step = -step;
      // reflect101 turns round at the pixel, reflect stays on it once more.
      position += border == 0 && size > 1 ? step : 0;
    }
  }
  return position;
}

}  // namespace

std::uint64_t GaussianBlurKernel::reference(const ReferenceJob& job) const {
  constexpr std::int64_t kPixelBytes[] = {1, 3, 4};
  const std::int64_t width = job.params[0].i64;
  const std::int64_t height = job.params[1].i64;
  const std::int64_t channels = kPixelBytes[job.params[2].choice_index];
  const std::vector<std::int64_t> weights = whole_gaussian(job.params[3].f64);
  const std::uint64_t border = job.params[4].choice_index;
  const auto radius = static_cast<std::int64_t>(weights.size() / 2);
  const std::int64_t row_bytes = width * channels;
  std::vector<std::int64_t> across(static_cast<std::size_t>(row_bytes * height));
  std::vector<std::int64_t> sources;
  for (std::size_t frame = 0; frame < job.input.size(); frame += across.size()) {
    for (std::int64_t x = 0; x < width; ++x) {
      sources.clear();
      for (std::int64_t k = -radius; k <= radius; ++k) {
        sources.push_back(beyond(border, x + k, width));
      }
      for (std::int64_t i = 0; i < height * channels; ++i) {
        const std::int64_t row = i / channels * row_bytes;
        std::int64_t sum = 0;
        for (std::size_t tap = 0; tap < weights.size(); ++tap) {
          if (sources[tap] >= 0) {
            const std::int64_t at = row + sources[tap] * channels + i % channels;
            sum += weights[tap] *
                   std::to_integer<std::int64_t>(job.input[frame + static_cast<std::size_t>(at)]);
          }
        }
        across[static_cast<std::size_t>(row + x * channels + i % channels)] = (sum + 128) / 256;
      }
    }
    for (std::int64_t y = 0; y < height; ++y) {
      sources.clear();
      for (std::int64_t k = -radius; k <= radius; ++k) {
        sources.push_back(beyond(border, y + k, height));
      }
      for (std::int64_t i = 0; i < row_bytes; ++i) {
        std::int64_t sum = 0;
        for (std::size_t tap = 0; tap < weights.size(); ++tap) {
          if (sources[tap] >= 0) {
            sum += weights[tap] * across[static_cast<std::size_t>(sources[tap] * row_bytes + i)];
          }
        }
        job.output[frame + static_cast<std::size_t>(y * row_bytes + i)] =
            static_cast<std::byte>((sum + (1 << 23)) / (1 << 24));
      }
    }
  }
  return job.input.size();
}

}  // namespace overlap
