#pragma once

#include "kernels/imaging/image_border.hpp"
#include "kernels/imaging/image_shape.hpp"
#include "kernels/kernel.hpp"

namespace overlap {

/// What `sobel` gives, in the order of the parameter's choices.
enum class SobelOutput : std::uint8_t { magnitude, x, y };

/// How `sobel` was asked to run.
struct SobelParams {
  ImageShape shape;
  SobelOutput output;
  ImageBorder border;

  [[nodiscard]] static SobelParams from(ParameterView params) noexcept;
};

/// `sobel`: the gradient of a picture of one channel, 3 x 3.
///
/// gx is (1 2 1) down times (-1 0 1) across, gy the same turned: positive where it becomes brighter
/// to the right, and downwards; -1020 to 1020.
/// magnitude: sqrt(gx^2 + gy^2) to the nearest integer, at most 255. It never lies half-way: m + 1/2
/// has a square that is no integer.
/// x, y: 128 + g / 8 to the nearest integer, halves up, at most 255; 128 is no gradient.
/// Host, CUDA and reference agree bit for bit.
class SobelKernel final : public Kernel {
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
