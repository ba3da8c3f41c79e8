#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// How `transpose` was asked to run.
struct TransposeParams {
  std::uint32_t rows;
  std::uint32_t cols;
  /// 1, 2, 4, 8 or 16.
  std::uint32_t element_bytes;

  [[nodiscard]] static TransposeParams from(ParameterView params) noexcept;
  [[nodiscard]] std::uint64_t frame_bytes() const noexcept;
};

/// `transpose`: frames of `rows` x `cols` elements of `element_bytes`, row-major, become frames of
/// `cols` x `rows`. A job holds one or more frames; the bits of an element are not interpreted.
///
/// Elements of 1 and 2 bytes are moved as words of 4 bytes where `rows` and `cols` are multiples of
/// a word's elements; else an element at a time, which is slower and not mapped.
class TransposeKernel final : public Kernel {
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
