#pragma once

#include "kernels/kernel.hpp"
#include "kernels/kernel_registry.hpp"

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace overlap {

/// Why a pipeline's text cannot be used. The message names the stage, the word and what is allowed.
class PipelineError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// One kernel of a pipeline with its parameters.
struct Stage {
  const Kernel* kernel;
  ParameterValues params;
};

/// Sizes of one job all the way through a pipeline.
struct PipelinePlan {
  /// Output bound of each stage, in order; the last is the job's.
  std::vector<Plan> stages;
  /// Upper bound of the job's output, bytes.
  std::uint64_t max_output_bytes = 0;
  /// Of the whole pipeline: one stage that makes nothing makes the whole job nothing.
  OutputSize output_size = OutputSize::known;
  /// Whether jobs of a channel depend on the ones before them.
  bool stateful = false;
};

using PipelinePlanOrRefusal = std::variant<PipelinePlan, Refusal>;

/// One or more kernels in sequence: `scale:a=2,b=1|transpose:rows=1024,cols=1024`.
class Pipeline {
 public:
  /// Reads the text form. Every parameter not named takes its default.
  /// @throws PipelineError for an empty stage, an unknown kernel or parameter, a value that is no
  ///         number, not finite or out of range, a parameter given twice, values that do not go
  ///         together (the stage refuses even one granule)
  [[nodiscard]] static Pipeline parse(std::string_view text, const KernelRegistry& registry);

  /// Of stages that were made elsewhere.
  /// @pre at least one
  Pipeline(std::string text, std::vector<Stage> stages);

  [[nodiscard]] const std::vector<Stage>& stages() const noexcept { return stages_; }
  /// The text it was read from.
  [[nodiscard]] const std::string& text() const noexcept { return text_; }

  /// Bytes of the first stage's element or frame.
  [[nodiscard]] std::uint64_t granule_bytes() const noexcept;

  /// Sizes for a job of `input_bytes`, or which stage refuses it and why.
  /// An input of 0 bytes is allowed everywhere and gives 0 bytes.
  [[nodiscard]] PipelinePlanOrRefusal plan(std::uint64_t input_bytes) const;

  /// The largest input that fits `capacity_bytes` and that `plan` accepts; 0 if there is none.
  /// Exact as long as each output is proportional to its input, as with every built-in kernel;
  /// else it is the largest found in a bounded search down from the capacity.
  [[nodiscard]] std::uint64_t largest_input_bytes(std::uint64_t capacity_bytes) const;

  /// Runs every stage's reference one after the other.
  /// @throws PipelineError if `plan` refuses the input's size
  [[nodiscard]] std::vector<std::byte> reference(std::span<const std::byte> input) const;

 private:
  std::string text_;
  std::vector<Stage> stages_;
};

}  // namespace overlap
