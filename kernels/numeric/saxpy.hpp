#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// `saxpy`: two f32 arrays in one slot, the first half `x`, the second half `y`; the output is
/// a * x + y, half as long. Rounded twice, after the product and after the sum, never fused, so
/// host, CUDA and reference agree bit for bit (NaN payloads aside).
///
/// `a` is rounded to f32 once. A channel's `a` that becomes infinite by that is refused; a job's own
/// becomes infinite, as IEEE 754 says.
class SaxpyKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;
};

}  // namespace overlap
