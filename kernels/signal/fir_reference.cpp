#include "kernels/signal/fir.hpp"

#include <cstring>
#include <vector>

namespace overlap {
namespace {

std::vector<float> floats_of(std::span<const std::byte> bytes) {
  std::vector<float> floats(bytes.size() / sizeof(float));
  if (!floats.empty()) {
    std::memcpy(floats.data(), bytes.data(), floats.size() * sizeof(float));
  }
  return floats;
}

}  // namespace

/// The state: the last samples before the job, oldest first.
std::uint64_t FirKernel::reference(const ReferenceJob& job) const {
  const auto tap_count = static_cast<std::size_t>(job.params[0].i64);
  const std::size_t lanes = job.params[1].choice_index == 0 ? 1 : 2;
  const std::vector<float> taps = floats_of(job.table);
  const std::size_t before = (tap_count - 1) * lanes;
  std::vector<float> signal = floats_of(job.state.first(before * sizeof(float)));
  for (const float x : floats_of(job.input)) {
    signal.push_back(x);
  }
  std::size_t written = 0;
  for (std::size_t at = before; at < signal.size(); ++at) {
    // Every rounding is forced through memory, so that no compiler option can fuse two of them.
    volatile float sum = 0;
    volatile float group = 0;
    for (std::size_t k = 0; k < tap_count; ++k) {
      const volatile float product = taps[k] * signal[at - k * lanes];
      group = group + product;
      if ((k + 1) % 64 == 0 || k + 1 == tap_count) {
        sum = sum + group;
        group = 0;
      }
    }
    const float y = sum;
    std::memcpy(&job.output[written], &y, sizeof y);
    written += sizeof y;
  }
  if (before != 0) {
    std::memcpy(job.state.data(), &signal[signal.size() - before], before * sizeof(float));
  }
  return written;
}

}  // namespace overlap
