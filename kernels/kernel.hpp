#pragma once

#include "kernels/overlap_kernel.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace overlap {

/// What kind of value a parameter takes.
enum class ParameterType : std::uint8_t { real, integer, choice };

/// One declared parameter: everything that parsing, help and range checks need.
struct Parameter {
  std::string_view name;
  ParameterType type;
  overlap_param_value default_value;
  /// Inclusive range; ignored for a choice.
  double minimum;
  double maximum;
  /// Unit of the value, empty for a pure number.
  std::string_view unit;
  std::string_view help;
  /// The names of a choice in index order; empty otherwise.
  std::span<const std::string_view> choices;
  /// Whether a job may bring a value of its own: never a choice, and nothing that changes a size.
  bool per_job = false;
};

/// The values of one stage's parameters, in the order of the declaration.
using ParameterValues = std::vector<overlap_param_value>;
using ParameterView = std::span<const overlap_param_value>;

/// How bytes may reach a kernel: a set of bits.
enum class Path : std::uint8_t { copy = 1, mapped = 2, gather = 4 };

[[nodiscard]] constexpr std::uint8_t operator|(Path a, Path b) noexcept {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

/// How many bytes a job makes: always its plan's bound, that or nothing, or anything up to it. The
/// last is for a pipeline's last stage only.
enum class OutputSize : std::uint8_t { known = 0, all_or_nothing = 1, up_to = 2 };

/// What a kernel needs and gives for one job of a known input size.
struct Plan {
  /// Upper bound of the output, bytes.
  std::uint64_t max_output_bytes = 0;
  OutputSize output_size = OutputSize::known;
  /// Scratch memory per job, bytes.
  std::uint64_t workspace_bytes = 0;
  /// `Path` bits; `mapped` only if each input byte is read once and each output byte written once.
  /// Any kernel can be served by `copy` and `gather`, which need not be named. The same for every
  /// input size, as the jobs of a batch differ in sizes alone.
  std::uint8_t paths = static_cast<std::uint8_t>(Path::copy);
  /// What is kept from job to job, for jobs up to this size: bytes per channel; 0 for a stateless
  /// kernel. The same for every input size or growing with it, and 0 for all of them or for none.
  std::uint64_t state_bytes = 0;
};

/// Why a job of this size cannot run: a sentence for the person who submitted it.
struct Refusal {
  std::string text;
};

using PlanOrRefusal = std::variant<Plan, Refusal>;

/// One job for a reference.
struct ReferenceJob {
  ParameterView params;
  std::span<const std::byte> input;
  /// As large as the plan's `max_output_bytes`.
  std::span<std::byte> output;
  std::span<const std::byte> table{};
  /// As large as the plan's `state_bytes`, zero before a channel's first job; laid out as the
  /// reference likes.
  std::span<std::byte> state{};
};

/// A kernel has no reference, so that its results cannot be verified. The message names it.
class NoReference : public std::logic_error {
 public:
  using std::logic_error::logic_error;
};

/// A CUDA stream as seen by code that may be compiled without CUDA (`cudaStream_t`).
using OpaqueStream = void*;

/// A named operation with parameters, with a host and a CUDA implementation.
///
/// Stateless objects: every method is `const` and safe from any thread.
class Kernel {
 public:
  virtual ~Kernel() = default;

  [[nodiscard]] virtual std::string_view name() const noexcept = 0;
  /// One line, for lists and help.
  [[nodiscard]] virtual std::string_view summary() const noexcept = 0;
  [[nodiscard]] virtual std::span<const Parameter> parameters() const noexcept = 0;

  static constexpr std::string_view kBuiltIn = "built-in";
  /// Where it comes from, for lists: `built-in`, or a file.
  [[nodiscard]] virtual std::string_view origin() const noexcept { return kBuiltIn; }
  /// What its table holds; empty for a kernel without one.
  [[nodiscard]] virtual std::string_view table_help() const noexcept { return {}; }
  /// Bytes of the table that a channel has to bring; 0: none.
  [[nodiscard]] virtual std::uint64_t table_bytes(ParameterView /*params*/) const noexcept {
    return 0;
  }

  /// Bytes of one element or frame: a job's input is a positive multiple of it.
  [[nodiscard]] virtual std::uint64_t granule_bytes(ParameterView params) const noexcept = 0;

  /// Sizes and paths for a job of `input_bytes`, or why it cannot run.
  /// @pre `params` comes from this kernel's declaration and is within its ranges
  [[nodiscard]] virtual PlanOrRefusal plan(ParameterView params,
                                           std::uint64_t input_bytes) const = 0;

  /// Makes, off the data path, what the first batch would have to wait for. May take long.
  /// @return why jobs up to this size would not run, if so
  [[nodiscard]] virtual std::optional<Refusal> prepare(ParameterView /*params*/,
                                                       std::uint64_t /*input_bytes*/,
                                                       bool /*on_gpu*/) const {
    return std::nullopt;
  }

  /// Whether it can run without a GPU.
  [[nodiscard]] virtual bool has_host() const noexcept { return true; }

  /// Runs the batch on the calling thread.
  /// @pre every item was planned and its output holds `max_output_bytes`
  virtual void run(const overlap_batch& batch) const = 0;

  /// Whether this build can launch it on a GPU.
  [[nodiscard]] virtual bool has_cuda() const noexcept = 0;

  /// Enqueues the batch on a CUDA stream in one launch and returns at once.
  /// @return a `cudaError_t` value, 0 for success
  [[nodiscard]] virtual int launch(const overlap_batch& batch, OpaqueStream stream) const = 0;

  /// The independent reference: plain, slow, written apart from `run` and `launch`.
  /// Jobs of a stateful kernel are given in their order, with the same state.
  /// @return bytes written to the output
  /// @pre as for `run`
  /// @throws NoReference if its author gave none
  virtual std::uint64_t reference(const ReferenceJob& job) const = 0;
};

}  // namespace overlap
