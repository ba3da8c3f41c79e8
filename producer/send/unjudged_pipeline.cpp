#include "producer/send/unjudged_pipeline.hpp"

#include "kernels/parameter_text.hpp"
#include "producer/send/send_options.hpp"

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

namespace overlap {
namespace {

/// Stands for all the stages of a pipeline that only the daemon knows.
class UnjudgedKernel final : public Kernel {
 public:
  [[nodiscard]] std::string_view name() const noexcept override { return "unjudged"; }
  [[nodiscard]] std::string_view summary() const noexcept override { return "the daemon's alone"; }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override { return {}; }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView) const noexcept override { return 1; }
  [[nodiscard]] PlanOrRefusal plan(ParameterView, std::uint64_t input_bytes) const override {
    Plan plan;
    plan.max_output_bytes = input_bytes;
    return plan;
  }
  void run(const overlap_batch&) const override { throw_no_reference(); }
  [[nodiscard]] bool has_cuda() const noexcept override { return false; }
  [[nodiscard]] int launch(const overlap_batch&, OpaqueStream) const override {
    throw_no_reference();
  }
  std::uint64_t reference(const ReferenceJob&) const override { throw_no_reference(); }

 private:
  [[noreturn]] static void throw_no_reference() {
    throw NoReference("a kernel that only the daemon has cannot run here");
  }
};

/// The first kernel of a pipeline's text that the registry does not have. A stage without a name is
/// an error for the parser to report.
std::optional<std::string_view> first_unknown(std::string_view text,
                                              const KernelRegistry& kernels) {
  while (!text.empty()) {
    const std::string_view stage = text.substr(0, text.find('|'));
    const std::string_view name = stage.substr(0, stage.find(':'));
    if (!name.empty() && kernels.find(name) == nullptr) {
      return name;
    }
    text.remove_prefix(std::min(stage.size() + 1, text.size()));
  }
  return std::nullopt;
}

}  // namespace

Pipeline read_pipeline(const std::string& text, const KernelRegistry& kernels, bool verify) {
  const auto unknown = first_unknown(text, kernels);
  if (!unknown) {
    return Pipeline::parse(text, kernels);
  }
  if (verify) {
    throw UsageError("--verify: this program has no reference for the kernel " + quoted(*unknown) +
                     ", which is none of the built-in ones; leave --verify out");
  }
  static const UnjudgedKernel kUnjudged;
  return Pipeline(text, {Stage{&kUnjudged, {}}});
}

}  // namespace overlap
