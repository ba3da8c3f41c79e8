#pragma once

#include "kernels/kernel.hpp"

#include <cstdint>

namespace overlap::test {

/// What host and kernel say to each other, in pinned host memory.
struct SpinWord {
  /// The host stores 1 to let the kernel go on.
  std::uint32_t released = 0;
  /// The kernel stores 1 when it has begun.
  std::uint32_t running = 0;
};

/// Waits until it is released, then copies input to output: a kernel that is certainly running for
/// as long as a test wants. Gives up after about a minute; its items then end as
/// `OVERLAP_ITEM_FAILED` with their outputs untouched, so that a failing test cannot hang the GPU.
class SpinKernel final : public Kernel {
 public:
  static constexpr std::uint32_t kDefaultBlockThreads = 128;

  /// @param word outlives every launch
  /// @param block_threads threads per item; above 1024 every launch fails
  explicit SpinKernel(SpinWord* word, std::uint32_t block_threads = kDefaultBlockThreads) noexcept
      : word_(word), block_threads_(block_threads) {}

  [[nodiscard]] std::string_view name() const noexcept override { return "spin_until_released"; }
  [[nodiscard]] std::string_view summary() const noexcept override {
    return "waits until it is released, then copies";
  }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override {
    return 1;
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override { return true; }
  /// @pre `batch.device_items` is not null
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;

 private:
  SpinWord* word_;
  std::uint32_t block_threads_;
};

}  // namespace overlap::test
