#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// `copy`: the output is the input, byte for byte. No parameters, any size.
class CopyKernel final : public Kernel {
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
