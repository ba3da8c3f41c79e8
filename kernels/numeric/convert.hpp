#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// Element type, in the order of the parameters' choices.
enum class ConvertType : std::uint8_t { u8, i16, i32, f16, bf16, f32, f64 };

[[nodiscard]] constexpr std::uint64_t element_bytes(ConvertType type) noexcept {
  constexpr std::uint64_t kBytes[] = {1, 2, 4, 2, 2, 4, 8};
  return kBytes[static_cast<std::size_t>(type)];
}

/// How `convert` was asked to run.
struct ConvertParams {
  ConvertType from;
  ConvertType to;
  double scale;
  /// Never +0: an offset of zero is -0 here, which changes no value, not even -0.
  double offset;

  [[nodiscard]] static ConvertParams from_values(ParameterView params) noexcept;
};

/// `convert`: every element x of type `from` becomes x * scale + offset of type `to`. The value is
/// computed in f64, which holds every type here exactly, with two roundings, never fused, and then
/// rounded once to the target:
///
/// u8, i16, i32: to the nearest integer, ties to even, then saturated to the type; NaN becomes 0.
/// f16, bf16, f32: to the nearest, ties to even, denormals kept; beyond the range infinite.
/// NaN stays NaN. With an offset of 0 nothing is added, so that -0 stays -0.
///
/// Host, CUDA and reference agree bit for bit (NaN payloads aside).
class ConvertKernel final : public Kernel {
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
