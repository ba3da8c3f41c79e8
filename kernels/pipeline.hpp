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

  /// Sizes for a job of `input_bytes`, or which stage refuses it and why. Neither the input nor a
  /// size of any stage is beyond `kMostJobBytes`.
  /// An input of 0 bytes is allowed everywhere and gives 0 bytes.
  [[nodiscard]] PipelinePlanOrRefusal plan(std::uint64_t input_bytes) const;

  /// The largest input that fits `capacity_bytes` and that `plan` accepts; 0 if there is none.
  /// Exact where the sizes that `plan` accepts are all the multiples of one up to a limit, as with
  /// every pipeline of built-in kernels: their outputs are proportional to the input or the same for
  /// all, and each refuses whole granules only from some size on. Else it is the largest found by
  /// bisection and in a bounded search down from the capacity.
  [[nodiscard]] std::uint64_t largest_input_bytes(std::uint64_t capacity_bytes) const;

  /// Runs every stage's reference one after the other, as a channel's first job.
  /// @throws PipelineError if `plan` refuses the input's size, or a stage needs a table
  [[nodiscard]] std::vector<std::byte> reference(std::span<const std::byte> input) const;

 private:
  std::string text_;
  std::vector<Stage> stages_;
};

/// Bytes for a stage's table; a stage is named by its index, from 0.
struct StageTable {
  std::size_t stage_index = 0;
  std::vector<std::byte> bytes{};
};

/// Sees that every stage has the table that it needs, and no stage one that it does not.
/// @throws PipelineError naming the stage, the bytes it needs and those it got
void check_tables(const Pipeline& pipeline, std::span<const StageTable> tables);

/// A pipeline's reference over the jobs of one channel, in their order: stages keep their state from
/// job to job. Restricted: one thread.
class ReferenceRun {
 public:
  /// @param pipeline is used as long as this lives
  /// @throws PipelineError as `check_tables`
  explicit ReferenceRun(const Pipeline& pipeline, std::span<const StageTable> tables = {});

  /// The output of the next job. A stage that makes nothing ends it: the stages behind see no job.
  /// @throws PipelineError if `Pipeline::plan` refuses the input's size; no state has changed then
  [[nodiscard]] std::vector<std::byte> run(std::span<const std::byte> input);
  /// The next job finds every stage as the first one did.
  void reset();

 private:
  struct Kept {
    std::vector<std::byte> table;
    /// Grows to what the largest job needs.
    std::vector<std::byte> state;
  };

  const Pipeline& pipeline_;
  /// One for each stage.
  std::vector<Kept> kept_;
};

}  // namespace overlap
