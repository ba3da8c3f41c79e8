#pragma once

#include "kernels/gemm/gemm.hpp"

namespace overlap {

/// Whether this build has a BLAS for the host.
[[nodiscard]] bool gemm_has_host() noexcept;

/// Once, before the first product: the daemon's threads are its own, so each call keeps to the
/// thread that makes it.
void host_gemm_start();

/// C = A * B for `rows` rows. Thread safety: any. @pre `rows` is not 0
void host_gemm(const GemmParams& wanted, std::uint64_t rows, const float* a, const float* b,
               float* c);

}  // namespace overlap
