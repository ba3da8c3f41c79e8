#pragma once

#include "kernels/kernel.hpp"

#include <memory>

namespace overlap {

class CublasHandles;

/// How `gemm` was asked to run.
struct GemmParams {
  /// Columns of A and rows of B.
  std::uint64_t k;
  /// Columns of B and of C.
  std::uint64_t n;

  [[nodiscard]] static GemmParams from(ParameterView params) noexcept;
  /// Bytes of a row of A and of C.
  [[nodiscard]] constexpr std::uint64_t input_row_bytes() const noexcept {
    return k * sizeof(float);
  }
  [[nodiscard]] constexpr std::uint64_t output_row_bytes() const noexcept {
    return n * sizeof(float);
  }
};

/// `gemm`: C = A * B in f32, all row-major. A is the job, m rows of k (m is what the job holds); B,
/// k rows of n, is the channel's table; C is the output, m rows of n.
///
/// Host (OpenBLAS, one thread a call), CUDA (cuBLAS SGEMM, no TF32) and reference (f64) add in
/// different orders. Each element of C is within gamma_k * (|A| * |B|) of the exact one, with
/// gamma_k = k * eps / (1 - k * eps), eps = 2^-24, whatever the order and whether or not products
/// are fused (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 3.5). A row
/// with a NaN or an infinity spoils its own row of C alone.
class GemmKernel final : public Kernel {
 public:
  GemmKernel();
  ~GemmKernel() override;
  GemmKernel(const GemmKernel&) = delete;
  GemmKernel& operator=(const GemmKernel&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::string_view table_help() const noexcept override;
  [[nodiscard]] std::uint64_t table_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  /// On a GPU: opens cuBLAS and makes its handle for the current device.
  [[nodiscard]] std::optional<Refusal> prepare(ParameterView params, std::uint64_t input_bytes,
                                               bool on_gpu) const override;
  [[nodiscard]] bool has_host() const noexcept override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  /// Several launches: rows of jobs that lie side by side and share a table are one product.
  /// Where sizes are known on the GPU alone, an item is taken to be as long as its output has room.
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;

 private:
  std::unique_ptr<CublasHandles> cuda_;
};

}  // namespace overlap
