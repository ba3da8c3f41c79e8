#pragma once

#include "kernels/source/source_kernel.hpp"
#include "kernels/source/source_program.hpp"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace overlap {

/// What a compiler made of a program.
struct CompiledSource {
  /// The code, for one kind of GPU.
  std::string image;
  /// The kernel's name in it.
  std::string entry;
  /// What the compiler said although it succeeded: warnings. Mostly empty.
  std::string log;
};

/// Makes code of source kernels and loads it on the GPU in use. Thread safety: any.
class SourceToolchain {
 public:
  virtual ~SourceToolchain() = default;

  /// Everything but the program's own text that the compiled code depends on: compiler, version,
  /// options, the GPU's architecture, the state of the headers that it includes.
  [[nodiscard]] virtual std::string identity(const SourceProgram& program) const = 0;
  /// May take seconds.
  /// @throws SourceError with the compiler's whole log, `FILE:LINE: ` before each message
  [[nodiscard]] virtual CompiledSource compile(const SourceProgram& program) const = 0;
  /// @throws std::runtime_error if the GPU does not take it: code that is damaged or for another GPU,
  ///         too many threads for the registers it needs
  [[nodiscard]] virtual std::unique_ptr<const SourceCode> load(const CompiledSource& compiled,
                                                               const SourceShape& shape) const = 0;
};

/// A toolchain for a GPU that has been opened.
/// @param nvrtc_path NVRTC's library or its folder; empty: wherever it is found
/// @throws std::runtime_error if NVRTC is not found, or the build has no CUDA
[[nodiscard]] std::unique_ptr<const SourceToolchain> make_source_toolchain(
    std::uint32_t device_index, const std::optional<std::string>& nvrtc_path);

}  // namespace overlap
