#pragma once

#include "kernels/kernel.hpp"
#include "kernels/overlap_kernel.h"
#include "kernels/plugin_declaration.hpp"

#include <deque>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// A kernel that a plug-in declares, as the daemon uses any other. Its texts are copied.
///
/// A plug-in's functions are its own responsibility; what they return is held against what the
/// daemon's arithmetic bears: a granule of 0 and sizes beyond `kMostJobBytes` are refusals. Sizes that
/// are no multiple of the granule never reach it.
/// Thread safety: any, as the ABI asks of the plug-in.
class PluginKernel final : public Kernel {
 public:
  /// @param origin the plug-in's file
  /// @pre what `declared` points to stays for as long as this object
  /// @throws PluginError naming kernel, parameter and what is wrong
  PluginKernel(const overlap_kernel& declared, std::string origin);

  PluginKernel(const PluginKernel&) = delete;
  PluginKernel& operator=(const PluginKernel&) = delete;

  [[nodiscard]] std::string_view name() const noexcept override { return name_; }
  [[nodiscard]] std::string_view summary() const noexcept override { return summary_; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    return parameters_;
  }
  [[nodiscard]] std::string_view origin() const noexcept override { return origin_; }
  [[nodiscard]] std::string_view table_help() const noexcept override { return table_help_; }
  [[nodiscard]] std::uint64_t table_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override;
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t input_bytes) const override;
  [[nodiscard]] std::optional<Refusal> prepare(ParameterView params, std::uint64_t input_bytes,
                                               bool on_gpu) const override;
  [[nodiscard]] bool has_host() const noexcept override { return run_ != nullptr; }
  /// @pre `has_host`
  void run(const overlap_batch& batch) const override;
  [[nodiscard]] bool has_cuda() const noexcept override { return launch_ != nullptr; }
  /// @return cudaErrorNotSupported without a CUDA implementation
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override;
  /// There is none in the ABI, and the kernel's own `run` would prove nothing.
  /// @throws NoReference
  std::uint64_t reference(const ReferenceJob& job) const override;

 private:
  /// The text's own copy, which stays where it is.
  std::string_view keep(const char* text, std::string_view what, std::size_t most_bytes);
  void read_parameter(const overlap_parameter& declared);
  [[noreturn]] void fail(const std::string& what) const;
  [[nodiscard]] Refusal refusal(std::string_view text, std::string_view otherwise) const;

  const overlap_kernel* declared_;
  std::string origin_;
  std::deque<std::string> texts_;
  std::deque<std::vector<std::string_view>> choices_;
  std::size_t text_bytes_ = 0;
  std::string_view name_;
  std::string_view summary_;
  std::string_view table_help_;
  std::vector<Parameter> parameters_;
  // Null where the plug-in's structure has none, or ends before it.
  decltype(overlap_kernel::table_bytes) table_bytes_ = nullptr;
  decltype(overlap_kernel::prepare) prepare_ = nullptr;
  decltype(overlap_kernel::run) run_ = nullptr;
  decltype(overlap_kernel::launch) launch_ = nullptr;
};

}  // namespace overlap
