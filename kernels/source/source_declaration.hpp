#pragma once

#include "kernels/kernel.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// Why a source file gives no kernel. The message begins with `FILE:LINE: `, or with `FILE: ` where
/// no line is to blame, and may have several lines.
class SourceError : public std::runtime_error {
 public:
  /// @param line from 1; 0 for none
  SourceError(const std::string& file, std::size_t line, const std::string& reason);
};

/// Type of an element of a source kernel.
enum class SourceType : std::uint8_t { u8, i16, i32, f32, f64 };

/// As in the declaration: `f32`.
[[nodiscard]] std::string_view source_type_name(SourceType type) noexcept;
[[nodiscard]] std::uint64_t source_type_bytes(SourceType type) noexcept;

/// A function of one element: `OUTPUT f(INPUT x, parameters...)`.
struct SourceElements {
  SourceType input;
  SourceType output;
};

/// Output bytes of a batch function: so many of so many input bytes, or always the same.
struct SourceOutput {
  std::uint64_t numerator = 1;
  std::uint64_t denominator = 1;
  /// Not 0: whatever the input.
  std::uint64_t fixed_bytes = 0;
};

/// What a batch function says of itself.
struct SourceBatchShape {
  std::uint64_t granule_bytes = 1;
  SourceOutput output;
  /// Threads of a block, a multiple of 32.
  std::uint32_t threads = 256;
  /// Input bytes that one block is meant for; 0: one block a job.
  std::uint64_t block_bytes = 0;
  /// Whether each input byte is read once and each output byte written once.
  bool is_mapped = false;
  std::uint64_t table_bytes = 0;
  std::string table_help;
};

/// A parameter that owns its texts.
struct SourceParameter {
  std::string name;
  ParameterType type = ParameterType::real;
  overlap_param_value default_value{};
  double minimum = 0;
  double maximum = 0;
  std::string unit;
  std::string help;
  std::vector<std::string> choices;
  bool is_per_job = false;
};

/// What a `.cu` file says about the kernel in it, in its lines that begin with `//!`.
struct SourceDeclaration {
  std::string file;
  std::string name;
  std::string summary;
  /// The function as C++ names it, with its namespaces.
  std::string function;
  /// Line of the declaration of the function, from 1.
  std::size_t function_line = 0;
  /// Empty: the function takes a whole batch, as `batch` says.
  std::optional<SourceElements> elements;
  SourceBatchShape batch;
  /// At most 16.
  std::vector<SourceParameter> parameters;
};

/// Reads the declaration in a source file's text. Its lines, in any order but the first:
///
///     //! kernel NAME "SUMMARY"
///     //! element FUNCTION INPUT -> OUTPUT          u8, i16, i32, f32, f64
///     //! batch FUNCTION                            instead of element
///     //! param NAME real DEFAULT MIN MAX UNIT "HELP" [per_job]
///     //! param NAME integer DEFAULT MIN MAX UNIT "HELP" [per_job]
///     //! param NAME choice DEFAULT FIRST,SECOND,... "HELP"
///
/// What it may hold is in `kernel_limits.hpp`, as for a plug-in.
///
/// `any` as MIN or MAX means no bound, `-` as UNIT a pure number. With `batch` there may also be
///
///     //! granule BYTES                             default 1
///     //! output NUMERATOR/DENOMINATOR              of the input's bytes; default 1/1
///     //! output BYTES bytes                        whatever the input
///     //! threads COUNT                             of a block; default 256
///     //! block_bytes BYTES                         input of one block; without it: one block a job
///     //! mapped                                    each byte is read or written once
///     //! table BYTES "HELP"
///
/// Thread safety: any.
/// @throws SourceError with the line, for everything that is missing, unknown, twice, out of range or
///         at odds with the rest, and for an `#include` of anything but CUDA's own headers
[[nodiscard]] SourceDeclaration parse_declaration(std::string_view text, const std::string& file);

/// The headers that the text includes, each once, in order: `cuda_fp16.h`. Thread safety: any.
[[nodiscard]] std::vector<std::string> included_headers(std::string_view text);

}  // namespace overlap
