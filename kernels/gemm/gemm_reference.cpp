#include "kernels/gemm/gemm.hpp"

#include <cstring>

namespace overlap {
namespace {

double element(std::span<const std::byte> matrix, std::size_t index) {
  float value = 0;
  std::memcpy(&value, &matrix[index * sizeof value], sizeof value);
  return value;
}

}  // namespace

/// By the definition, in f64: products of two f32 are exact there.
std::uint64_t GemmKernel::reference(const ReferenceJob& job) const {
  const auto k = static_cast<std::size_t>(job.params[0].i64);
  const auto n = static_cast<std::size_t>(job.params[1].i64);
  const std::size_t m = job.input.size() / (k * sizeof(float));
  for (std::size_t row = 0; row < m; ++row) {
    for (std::size_t column = 0; column < n; ++column) {
      double sum = 0;
      for (std::size_t inner = 0; inner < k; ++inner) {
        sum += element(job.input, row * k + inner) * element(job.table, inner * n + column);
      }
      const auto rounded = static_cast<float>(sum);
      std::memcpy(&job.output[(row * n + column) * sizeof rounded], &rounded, sizeof rounded);
    }
  }
  return m * n * sizeof(float);
}

}  // namespace overlap
