#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// Element type, in the order of the parameter's choices.
enum class HistogramType : std::uint8_t { u8, f32 };

/// How `histogram` was asked to run.
struct HistogramParams {
  HistogramType type;
  std::uint32_t bins;
  /// Of f32, both inclusive.
  double lower;
  double upper;

  [[nodiscard]] static HistogramParams from(ParameterView params) noexcept;
  /// Bins per unit of value: bins / (upper - lower), rounded after each step.
  [[nodiscard]] double bins_per_unit() const noexcept;
};

/// `histogram`: how many elements of the job fall into each of `bins` equal intervals, as `bins`
/// counts of u32. Counts are exact, so host, CUDA and reference agree bit for bit.
///
/// u8: the intervals divide [0, 256): x counts for bin floor(x * bins / 256), at most 256 of them;
/// `lower` and `upper` mean nothing.
/// f32: they divide [lower, upper]: x counts for bin floor((x - lower) * bins_per_unit), computed in
/// f64 and rounded after each step, and `upper` itself counts for the last bin, as with numpy.
/// An x within a rounding of an edge may therefore count for the neighbour, everywhere for the same
/// one. NaN and what is out of range is not counted.
///
/// On the GPU all blocks count in shared memory and add up in the output; bins that do not fit there
/// are counted in the output at once. CUB is not used: its DeviceHistogram is a launch and a query
/// for each job, and its BlockHistogram an atomic addition to one copy of the bins for each element.
/// Here a batch is two launches, and threads of a warp have copies of their own while they fit, so
/// that equal or neighbouring values do not wait for each other.
///
/// The producer may change the input meanwhile: each element is read once, and whatever it is, its
/// bin is within the output.
class HistogramKernel final : public Kernel {
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
