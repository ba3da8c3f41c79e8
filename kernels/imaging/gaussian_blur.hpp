#pragma once

#include "kernels/imaging/gaussian_weights.hpp"
#include "kernels/imaging/image_border.hpp"
#include "kernels/imaging/image_shape.hpp"
#include "kernels/kernel.hpp"

namespace overlap {

/// Up to this radius CUDA blurs both ways in one go, without a workspace.
inline constexpr std::uint32_t kFusedBlurRadius = 8;

/// How `gaussian_blur` was asked to run.
struct GaussianBlurParams {
  ImageShape shape;
  GaussianWeights weights;
  ImageBorder border;

  [[nodiscard]] static GaussianBlurParams from(ParameterView params) noexcept;
};

/// `gaussian_blur`: every channel, alpha included, is blurred across and then down by a Gaussian of
/// radius ceil(3 sigma) pixels.
///
/// Across: the sum of sample * weight, in 1/65536, rounded to 1/256, halves up: 16 bits.
/// Down: the sum of those * weight, in 1/2^24, rounded to an integer, halves up.
/// Integers throughout, so host, CUDA and reference agree bit for bit. Against the same Gaussian in
/// real numbers a byte is off by at most 1/2 (the last rounding) + 1/512 (the first) +
/// 4 * 255 * radius / 65536 (the weights, both ways): below 0.58 for sigma 1.5.
class GaussianBlurKernel final : public Kernel {
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
