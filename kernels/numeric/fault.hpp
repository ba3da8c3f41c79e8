#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// How a job ends, in the order of the parameter's choices.
enum class FaultKind : std::uint8_t { failed, too_small, launch, trap };

/// How `fault` was asked to run.
struct FaultParams {
  FaultKind kind;
  /// -1, or the first byte of the jobs that end badly.
  std::int64_t byte;

  [[nodiscard]] static FaultParams from(ParameterView params) noexcept;
  [[nodiscard]] constexpr bool strikes(std::uint8_t first_byte) const noexcept {
    return byte < 0 || byte == first_byte;
  }
};

/// `fault`, of test builds only: ends jobs badly, those whose first byte is `byte`, or all (-1). The
/// others are copied.
///
/// failed: the job's status is `OVERLAP_ITEM_FAILED`.
/// too_small: it is `OVERLAP_ITEM_OUTPUT_TOO_SMALL`, and the job needs one byte more than its output
/// holds.
/// launch: the whole batch, whatever its bytes: the launch returns `cudaErrorInvalidValue`; on the
/// host every job has failed.
/// trap: the GPU traps, which loses the process its context and all work on it; on the host the job
/// has failed.
class FaultKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  /// @pre `batch.device_items` is not null, however few the items
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  /// @return 0 for a job that ends badly on the host
  std::uint64_t reference(const ReferenceJob& job) const override;
};

}  // namespace overlap
