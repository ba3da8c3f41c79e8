#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// Element type, in the order of the parameter's choices.
enum class ScaleType : std::uint8_t { u8, i16, i32, f32, f64 };

/// How `scale` was asked to run.
struct ScaleParams {
  double a;
  double b;
  ScaleType type;

  [[nodiscard]] static ScaleParams from(ParameterView params) noexcept;
};

/// `scale`: every element x becomes a * x + b, rounded twice: after the product and after the sum,
/// never fused. Host, CUDA and reference agree bit for bit (NaN payloads aside).
///
/// f32: `a` and `b` are rounded to f32 once, then both steps are f32 arithmetic. A channel's factor
/// that becomes infinite by that is refused; a job's own becomes infinite, as IEEE 754 says.
/// f64: both steps are f64 arithmetic.
/// NaN, infinities and denormals follow IEEE 754; denormals are kept.
/// u8, i16, i32: both steps in f64, then to the nearest integer, ties to even, then saturated to
/// the type: what is beyond its range becomes its smallest or largest value.
class ScaleKernel final : public Kernel {
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
