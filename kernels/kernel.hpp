#pragma once

#include "kernels/overlap_kernel.h"

#include <cstddef>
#include <cstdint>
#include <span>
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
};

/// The values of one stage's parameters, in the order of the declaration.
using ParameterValues = std::vector<overlap_param_value>;
using ParameterView = std::span<const overlap_param_value>;

/// How bytes may reach a kernel: a set of bits.
enum class Path : std::uint8_t { copy = 1, mapped = 2, gather = 4 };

[[nodiscard]] constexpr std::uint8_t operator|(Path a, Path b) noexcept {
  return static_cast<std::uint8_t>(static_cast<std::uint8_t>(a) | static_cast<std::uint8_t>(b));
}

/// What a kernel needs and gives for one job of a known input size.
struct Plan {
  /// Upper bound of the output, bytes.
  std::uint64_t max_output_bytes = 0;
  /// Whether every such job gives exactly `max_output_bytes`.
  bool output_size_known = true;
  /// Scratch memory per job, bytes.
  std::uint64_t workspace_bytes = 0;
  /// `Path` bits; `mapped` only if each input byte is read once and each output byte written once.
  /// Any kernel can be served by `copy` and `gather`, which need not be named.
  std::uint8_t paths = static_cast<std::uint8_t>(Path::copy);
  /// Whether jobs of a channel depend on the ones before them.
  bool stateful = false;
};

/// Why a job of this size cannot run: a sentence for the person who submitted it.
struct Refusal {
  std::string text;
};

using PlanOrRefusal = std::variant<Plan, Refusal>;

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

  /// Bytes of one element or frame: a job's input is a positive multiple of it.
  [[nodiscard]] virtual std::uint64_t granule_bytes(ParameterView params) const noexcept = 0;

  /// Sizes and paths for a job of `input_bytes`, or why it cannot run.
  /// @pre `params` comes from this kernel's declaration and is within its ranges
  [[nodiscard]] virtual PlanOrRefusal plan(ParameterView params,
                                           std::uint64_t input_bytes) const = 0;

  /// Runs the batch on the calling thread.
  /// @pre every item was planned and its output holds `max_output_bytes`
  virtual void run(const overlap_batch& batch) const = 0;

  /// Whether this build can launch it on a GPU.
  [[nodiscard]] virtual bool has_cuda() const noexcept = 0;

  /// Enqueues the batch on a CUDA stream in one launch and returns at once.
  /// @return a `cudaError_t` value, 0 for success
  [[nodiscard]] virtual int launch(const overlap_batch& batch, OpaqueStream stream) const = 0;

  /// The independent reference: plain, slow, written apart from `run` and `launch`.
  /// @return bytes written to `output`
  /// @pre as for `run`
  virtual std::uint64_t reference(ParameterView params, std::span<const std::byte> input,
                                  std::span<std::byte> output) const = 0;
};

}  // namespace overlap
