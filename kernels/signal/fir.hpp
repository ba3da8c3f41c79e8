#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// How `fir` was asked to run.
struct FirParams {
  /// Coefficients of the filter, N.
  std::uint64_t taps;
  /// Floats in a sample: 1 for real ones, 2 for complex ones.
  std::uint64_t lanes;

  [[nodiscard]] static FirParams from(ParameterView params) noexcept;
  /// Floats that a job needs of the jobs before it: those of N - 1 samples.
  [[nodiscard]] constexpr std::uint64_t history_floats() const noexcept {
    return (taps - 1) * lanes;
  }
};

/// Products that are summed on their own before they join the sum: keeps the error small.
inline constexpr std::uint64_t kFirGroupTaps = 64;

/// `fir`: y[n] = sum of h[k] * x[n - k] for k = 0 .. N-1, on f32 samples, real or complex, with real
/// taps h, which are the channel's table (N times f32). The jobs of a channel are one signal: x
/// reaches back into the jobs before, and before the first is silence (zeros, which are multiplied
/// too: an infinite tap makes a NaN of them).
///
/// Every product and every sum is rounded to f32, never fused, in this order: the taps are cut into
/// groups of 64; in a group, starting from +0, products are added from the lowest k to the highest;
/// the groups' sums are added to +0 in the same order. Host, CUDA and reference agree bit for bit
/// (NaN payloads aside). The error is at most about (64 + N / 64) * 2^-24 of sum |h[k] * x[n - k]|
/// (Higham, Accuracy and Stability of Numerical Algorithms, 2nd ed., section 4.2, for blocked
/// sums); plain order would give N * 2^-24.
class FirKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::string_view table_help() const noexcept override;
  [[nodiscard]] std::uint64_t table_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  /// With one tap there is nothing to keep, and the kernel is stateless.
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;
};

}  // namespace overlap
