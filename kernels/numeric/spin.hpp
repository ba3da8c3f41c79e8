#pragma once

#include "kernels/kernel.hpp"

namespace overlap {

/// `spin`: busy for `microseconds`, then the output is the input, byte for byte: a load of known
/// duration, for tests and tuning. A job may bring its own duration.
///
/// The jobs of a batch spin at the same time. On the GPU one block a job watches the GPU's clock
/// (%globaltimer, which may advance in steps of about a microsecond) and then copies, so a large job
/// takes longer by what one block needs for its bytes; more jobs than the GPU holds blocks, at least
/// two for each multiprocessor, spin one after the other. The host spins once for the whole batch, on
/// the steady clock. Never shorter than asked; how much longer depends on the machine.
class SpinKernel final : public Kernel {
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
