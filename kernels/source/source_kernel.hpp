#pragma once

#include "kernels/kernel.hpp"
#include "kernels/source/source_declaration.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// The code of a source kernel, loaded on a GPU.
class SourceCode {
 public:
  virtual ~SourceCode() = default;
  /// As `Kernel::launch`. Thread safety: any.
  [[nodiscard]] virtual int launch(const overlap_batch& batch, OpaqueStream stream) const = 0;
};

/// Why a host implementation cannot be joined with what a source file declares: they differ in a
/// parameter, in granule or output for its defaults, or it keeps state, or has a CUDA side already.
/// @return nothing if they go together
[[nodiscard]] std::optional<std::string> why_not_joined(const SourceDeclaration& declaration,
                                                        const Kernel& host);

/// A kernel from a source file: CUDA alone, or with the host implementation of a plug-in's kernel of
/// the same name. It has no reference of its own.
class SourceKernel final : public Kernel {
 public:
  /// @param code null where there is no GPU
  /// @param host null for none; outlives this kernel
  /// @pre nothing stands in the way of joining them
  SourceKernel(SourceDeclaration declaration, std::unique_ptr<const SourceCode> code,
               const Kernel* host = nullptr);

  [[nodiscard]] std::string_view name() const noexcept override { return declaration_.name; }
  [[nodiscard]] std::string_view summary() const noexcept override { return declaration_.summary; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    return parameters_;
  }
  /// The file.
  [[nodiscard]] std::string_view origin() const noexcept override { return declaration_.file; }
  [[nodiscard]] std::string_view table_help() const noexcept override {
    return declaration_.batch.table_help;
  }
  [[nodiscard]] std::uint64_t table_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  /// With a host implementation: refused as well where that refuses, or plans another size.
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  [[nodiscard]] std::optional<Refusal> prepare(ParameterView params, std::uint64_t input_bytes,
                                               bool on_gpu) const override;
  [[nodiscard]] bool has_host() const noexcept override { return host_ != nullptr; }
  /// Without a host implementation every job fails.
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override { return code_ != nullptr; }
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  /// @throws NoReference without a host implementation: then there is nothing to ask
  std::uint64_t reference(const ReferenceJob& job) const override;

  /// The host implementation that it was joined with; null if none.
  [[nodiscard]] const Kernel* host() const noexcept { return host_; }

 private:
  SourceDeclaration declaration_;
  std::unique_ptr<const SourceCode> code_;
  const Kernel* host_;
  std::vector<std::vector<std::string_view>> choices_;
  std::vector<Parameter> parameters_;
};

}  // namespace overlap
