#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// `power_spectrum`: complex f32 samples (re, im, re, im, ...) become their power
/// `(re * re + im * im) * scale`, f32, half the bytes. `scale` is rounded to f32 once.
///
/// Four roundings, never fused: both squares, their sum, the product with `scale`; also where
/// `scale` is 1. Host, CUDA and reference agree bit for bit (NaN payloads aside). NaN, infinities
/// and denormals follow IEEE 754; denormals are kept.
class PowerSpectrumKernel final : public Kernel {
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
