#pragma once

#include "kernels/kernel.hpp"
#include "kernels/kernel_registry.hpp"

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

namespace overlap::testing {

/// A kernel that does what a test says, for inputs of any size.
class ScriptedKernel final : public Kernel {
 public:
  struct Script {
    std::string name = "scripted";
    /// Output bytes per input byte.
    std::uint64_t growth = 1;
    std::uint64_t workspace_bytes = 0;
    std::uint64_t state_bytes = 0;
    std::uint64_t table_bytes = 0;
    OutputSize output_size = OutputSize::known;
    std::vector<Parameter> parameters{};
    /// What a batch does; null does nothing.
    std::function<void(const overlap_batch&)> run{};
    /// Where what it keeps depends on the input's bytes.
    std::function<std::uint64_t(std::uint64_t)> state_bytes_for{};
    std::string origin{Kernel::kBuiltIn};
  };

  explicit ScriptedKernel(Script script) : script_(std::move(script)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return script_.name; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "for tests"; }
  [[nodiscard]] std::string_view origin() const noexcept override { return script_.origin; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    return script_.parameters;
  }
  [[nodiscard]] std::uint64_t table_bytes(ParameterView /*params*/) const noexcept override {
    return script_.table_bytes;
  }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override {
    return 1;
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override { return false; }
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  std::uint64_t reference(const ReferenceJob& job) const override;

 private:
  Script script_;
};

/// First byte of an input that makes `judge` report that job as failed.
inline constexpr std::byte kFailing{0xf0};
/// First byte of an input that makes `judge` ask for `kJudgeNeedsBytes` of output.
inline constexpr std::byte kTooSmall{0xf1};
inline constexpr std::uint64_t kJudgeNeedsBytes = 5000;

/// The built-in kernels and two more: `twice`, whose output is its input two times over, and `judge`,
/// a copy that ends a job as the job's first byte says.
[[nodiscard]] const KernelRegistry& scripted_registry();

}  // namespace overlap::testing
