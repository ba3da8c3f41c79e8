#pragma once

#include "kernels/imaging/image_shape.hpp"
#include "kernels/kernel.hpp"

namespace overlap {

/// How `resize` was asked to run.
struct ResizeParams {
  ImageShape in;
  ImageShape out;

  [[nodiscard]] static ResizeParams from(ParameterView params) noexcept;
};

/// `resize`: bilinear interpolation between the four nearest pixels, up and down, each channel by
/// itself, pixels' centres at halves (as OpenCV's INTER_LINEAR). It does not average: reducing to
/// less than half the size leaves pixels out; blur before that.
///
/// Positions are rounded to 1/2048 of a pixel and kept within the image; the four products are added
/// up exactly, and the sum in 1/2^22 is rounded to an integer, halves up. Host, CUDA and reference
/// agree bit for bit. No value of the input steers an address.
class ResizeKernel final : public Kernel {
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
