#include "kernels/numeric/transpose.hpp"

namespace overlap {

std::uint64_t TransposeKernel::reference(const ReferenceJob& job) const {
  const auto rows = static_cast<std::uint64_t>(job.params[0].i64);
  const auto cols = static_cast<std::uint64_t>(job.params[1].i64);
  constexpr std::uint64_t kWidths[] = {1, 2, 4, 8, 16};
  const std::uint64_t width = kWidths[job.params[2].choice_index];
  std::uint64_t read = 0;
  for (std::uint64_t frame = 0; read < job.input.size(); ++frame) {
    for (std::uint64_t row = 0; row < rows; ++row) {
      for (std::uint64_t col = 0; col < cols; ++col) {
        const std::uint64_t element = (frame * cols + col) * rows + row;
        for (std::uint64_t byte = 0; byte < width; ++byte) {
          job.output[element * width + byte] = job.input[read++];
        }
      }
    }
  }
  return read;
}

}  // namespace overlap
