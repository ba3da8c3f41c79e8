#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// In the order of the parameter's choices.
enum class ReduceOp : std::uint8_t { sum, min, max, mean, variance };
enum class ReduceType : std::uint8_t { u8, i16, i32, f32, f64 };

/// How `reduce` was asked to run.
struct ReduceParams {
  ReduceOp op;
  ReduceType type;
  /// Elements of a segment; 0: all of the job.
  std::uint64_t length;

  [[nodiscard]] static ReduceParams from(ParameterView params) noexcept;
  [[nodiscard]] std::uint64_t element_bytes() const noexcept;
};

/// `reduce`: every segment of `length` elements, at most 2^32 of them, becomes one f64, whatever `op`
/// and `type`: it holds each element exactly, and what is built on a result need not ask for its type.
///
/// Integers: sums are exact, of squares too, and the result is rounded at the end: the sum once, the
/// mean twice, the variance three times.
/// f32, f64: all arithmetic is f64, with one rounding a step, never fused, in an order that the
/// segment's length alone decides, so host, CUDA and reference agree bit for bit (NaN payloads
/// aside):
///   A run is 16 KiB of the segment. Its element i belongs to lane i mod L, with L = 128 for f32 and
///   64 for f64. A lane adds its elements in their order, beginning with +0. Then neighbours are
///   added pairwise: lane 2k and 2k + 1, and so on until one is left. The results of the runs belong
///   to 256 lanes in the same way and are put together in the same order.
/// sum, mean: as IEEE 754 has it; the mean is the sum divided by the count.
/// min, max: NaN if there is one; -0 is below +0.
/// variance: of the population, that is divided by the count. Within a run, of deviations d from the
/// run's first element: offset = sum(d) / count, squares = sum(d * d) - sum(d)^2 / count. Runs are
/// put together as Chan, Golub and LeVeque do ("Updating formulae and a pairwise algorithm for
/// computing sample variances", 1979), with the difference of two means taken as that of the first
/// elements plus that of the offsets. The first element is no farther from its run's mean than the
/// root of the count times the deviation, so the result is right to 2^-35 of itself, whatever the
/// mean. Infinities, and deviations whose squares f64 cannot hold, give NaN or infinity.
///
/// On the GPU a few threads or a warp take a run, as the segment needs; runs of a longer segment are
/// put together by a second launch, with CUB. There are no atomics.
class ReduceKernel final : public Kernel {
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
