#include "kernels/imaging/grayscale.hpp"

#include <cmath>

namespace overlap {
namespace {

struct Share {
  double red;
  double green;
  double blue;
};

constexpr Share kBt601{0.299, 0.587, 0.114};
constexpr Share kBt709{0.2126, 0.7152, 0.0722};

/// The share in whole 1/65536, then a sum that f64 holds exactly.
double part(double share, std::byte sample) {
  return std::nearbyint(share * 65'536.0) * std::to_integer<int>(sample);
}

}  // namespace

std::uint64_t GrayscaleKernel::reference(const ReferenceJob& job) const {
  const std::size_t pixel_bytes = job.params[2].choice_index == 0 ? 3 : 4;
  const Share share = job.params[3].choice_index == 0 ? kBt601 : kBt709;
  std::uint64_t written = 0;
  for (std::size_t at = 0; at < job.input.size(); at += pixel_bytes) {
    const double sum = part(share.red, job.input[at]) + part(share.green, job.input[at + 1]) +
                       part(share.blue, job.input[at + 2]);
    job.output[written++] = static_cast<std::byte>(std::floor(sum / 65'536.0 + 0.5));
  }
  return written;
}

}  // namespace overlap
