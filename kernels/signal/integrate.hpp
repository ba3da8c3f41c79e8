#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// How `integrate` was asked to run.
struct IntegrateParams {
  /// Jobs in one sum.
  std::uint64_t count;
  /// Whether the sum is divided by `count`.
  bool mean;

  [[nodiscard]] static IntegrateParams from(ParameterView params) noexcept;
};

/// What begins a channel's state; the f64 sums follow at `kSumsOffsetBytes`, one an element.
struct IntegrationHeader {
  /// Jobs in the sums; 0: the next job begins anew, whatever the sums hold.
  std::uint64_t job_count;
  /// Elements of each of those jobs.
  std::uint64_t element_count;
  /// Sums that may be other than zero bytes.
  std::uint64_t used_count;
};
inline constexpr std::uint64_t kSumsOffsetBytes = 64;

/// `integrate`: sums `count` consecutive jobs of a channel, element by element, and emits the sum
/// (`op=sum`) or the sum divided by `count` (`op=mean`) with the last of them; the others make no
/// output. f32 in and out.
///
/// The sums are kept in f64, added in the order of the jobs, and rounded to f32 once at the end: in
/// f32, a sum of a million equal jobs would be off by per cents. Host, CUDA and reference agree bit
/// for bit (NaN payloads aside). The first job is taken as it is, so that -0 stays -0.
///
/// A job whose length is not that of the sum it would join fails, and the sum is dropped: the job
/// after it begins anew. An empty job changes nothing.
class IntegrateKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  /// Of a job that fails: 0 bytes, and a state of zero bytes.
  std::uint64_t reference(const ReferenceJob& job) const override;
};

}  // namespace overlap
