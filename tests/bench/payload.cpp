#include "tests/bench/payload.hpp"

namespace overlap::bench {

std::string pipeline_text(Work work, std::uint32_t repeat) {
  return work == Work::scale ? "scale:a=2,b=1" : "vector_add:repeat=" + std::to_string(repeat);
}

std::uint64_t output_bytes_of(Work work, std::uint64_t input_bytes) noexcept {
  return work == Work::scale ? input_bytes : input_bytes / 2;
}

void fill_payload(std::span<float> values, std::uint32_t seed) noexcept {
  float* const to = values.data();
  const auto count = static_cast<std::int32_t>(values.size());
  const auto first = static_cast<std::int32_t>(seed % 4096);
  // 32-bit signed, so that the compiler converts several at once.
  for (std::int32_t k = 0; k < count; ++k) {
    to[k] = static_cast<float>((k + first) & 4095);
  }
}

bool is_right(Work work, std::span<const float> input, std::span<const float> output) noexcept {
  if (output.size() != output_bytes_of(work, input.size())) {
    return false;
  }
  std::size_t wrong = 0;
  const std::size_t half = input.size() / 2;
  for (std::size_t k = 0; k < output.size(); ++k) {
    const float right = work == Work::scale ? 2 * input[k] + 1 : input[k] + input[half + k];
    wrong += output[k] == right ? 0 : 1;
  }
  return wrong == 0;
}

}  // namespace overlap::bench
