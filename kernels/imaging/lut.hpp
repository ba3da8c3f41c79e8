#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// How `lut` was asked to run.
struct LutParams {
  /// Bytes of a pixel.
  std::uint32_t channels;
  /// Tables of 256 bytes: 1, or one a channel.
  std::uint32_t tables;

  [[nodiscard]] static LutParams from(ParameterView params) noexcept;
};

/// `lut`: every byte is looked up in the channel's table of 256 bytes, or in that of its image
/// channel: out = table[in]. Host, CUDA and reference agree bit for bit. Whatever the input changes
/// to meanwhile, a byte stays within its table.
class LutKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override;
  [[nodiscard]] std::string_view summary() const noexcept override;
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override;
  [[nodiscard]] std::string_view table_help() const noexcept override;
  [[nodiscard]] std::uint64_t table_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  /// @pre every item has a table of `table_bytes`
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override;
  /// @pre as for `run`
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;
};

}  // namespace overlap
