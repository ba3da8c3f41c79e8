#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// Between two stages of a batch whose sizes are found out as it runs: what a stage has made of each
/// job becomes the input size of the items behind. Not a kernel for pipelines: it moves no bytes.
///
/// The batch is the stage's, with as many items once more behind it in the same array. A job that has
/// failed, or whose input was empty, makes nothing; none makes more than its capacity.
class PassSizesKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "pass_sizes"; }
  [[nodiscard]] std::string_view summary() const noexcept override {
    return "hands sizes on to the next stage";
  }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override {
    return 1;
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  /// @pre `batch.device_items` is not null
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;
};

}  // namespace overlap
