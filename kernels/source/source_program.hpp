#pragma once

#include "kernels/source/source_batch.hpp"
#include "kernels/source/source_declaration.hpp"

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// A header that the run-time compiler finds by name, without a file.
struct SourceHeader {
  const char* name;
  const char* text;
};

/// What every source kernel can use, and the empty stand-ins for the system headers whose contents
/// are there anyway. The first is the prelude, `overlap_source.cuh`.
[[nodiscard]] std::span<const SourceHeader> source_headers() noexcept;

/// What the run-time compiler is given.
struct SourceProgram {
  /// For messages.
  std::string file;
  /// The file's own text, with what makes a kernel of it before and behind. Positions in messages are
  /// those of the file.
  std::string text;
  /// The kernel, as a C++ expression that names it.
  std::string entry;
  /// Headers that the file includes.
  std::vector<std::string> included;
  SourceShape shape;
};

/// The kernel's arguments are a `SourceBatch` and then one of 8 bytes for each parameter: `double`,
/// `int64_t`, or `uint64_t` for the index of a choice.
/// @pre `declaration` was read from `text`
[[nodiscard]] SourceProgram make_program(const SourceDeclaration& declaration,
                                         std::string_view text);

}  // namespace overlap
