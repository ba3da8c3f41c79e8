#pragma once

#include "kernels/imaging/image_shape.hpp"
#include "kernels/kernel.hpp"

namespace overlap {

/// Shares of red, green and blue, in 1/65536; they add up to 65536.
struct GrayWeights {
  std::uint32_t red;
  std::uint32_t green;
  std::uint32_t blue;
};

/// How `grayscale` was asked to run.
struct GrayscaleParams {
  ImageShape shape;
  GrayWeights weights;

  [[nodiscard]] static GrayscaleParams from(ParameterView params) noexcept;
};

/// `grayscale`: RGB or RGBA pixels become one byte of luma; alpha is dropped.
///
/// (red * R + green * G + blue * B + 32768) / 65536, rounded down, which is the weighted mean to the
/// nearest integer, halves up. The weights are those of ITU-R BT.601 (0.299, 0.587, 0.114) or BT.709
/// (0.2126, 0.7152, 0.0722) in 1/65536: less than 0.006 of a level off the exact ones. Host, CUDA and
/// reference agree bit for bit.
class GrayscaleKernel final : public Kernel {
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
