#include "kernels/gemm/host_gemm.hpp"

#include <algorithm>

#include <cblas.h>

namespace overlap {

bool gemm_has_host() noexcept { return true; }

void host_gemm_start() { openblas_set_num_threads(1); }

void host_gemm(const GemmParams& wanted, std::uint64_t rows, const float* a, const float* b,
               float* c) {
  // Its integers have 32 bits.
  constexpr std::uint64_t kMostRows = std::uint64_t{1} << 30;
  const auto k = static_cast<blasint>(wanted.k);
  const auto n = static_cast<blasint>(wanted.n);
  while (rows != 0) {
    const std::uint64_t now = std::min(rows, kMostRows);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, static_cast<blasint>(now), n, k, 1.0F, a,
                k, b, n, 0.0F, c, n);
    a += now * wanted.k;
    c += now * wanted.n;
    rows -= now;
  }
}

}  // namespace overlap
