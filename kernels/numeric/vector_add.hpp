#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// How `vector_add` was asked to run.
struct VectorAddParams {
  /// How often the inputs are read and the output is written.
  std::int64_t repeat;

  [[nodiscard]] static VectorAddParams from(ParameterView params) noexcept;
};

/// `vector_add`: two f32 arrays in one slot, the first half `a`, the second half `b`; the output is
/// `a + b`, half as long. One rounding, so host, CUDA and reference agree bit for bit (NaN payloads
/// aside).
///
/// `repeat` does the whole pass over memory that many times, as a load of known size: no pass is
/// optimised away, and the result is that of one.
class VectorAddKernel final : public Kernel {
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
