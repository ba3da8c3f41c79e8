#pragma once

#include "daemon/device/nvrtc_library.hpp"
#include "daemon/device/source_toolchain.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// Compiles source kernels for one architecture. Needs no GPU. Thread safety: any.
class NvrtcCompiler {
 public:
  /// @param architecture `sm_90`
  /// @throws NvrtcAbsent as `NvrtcLibrary`
  NvrtcCompiler(const std::optional<std::string>& nvrtc_path, std::string architecture);

  /// As `SourceToolchain::identity`.
  [[nodiscard]] std::string identity(const SourceProgram& program) const;
  /// As `SourceToolchain::compile`.
  [[nodiscard]] CompiledSource compile(const SourceProgram& program) const;

  /// `NVRTC 13.0 for sm_90 (/usr/.../libnvrtc.so.13)`, for the log.
  [[nodiscard]] std::string description() const;
  [[nodiscard]] const std::vector<std::string>& options() const noexcept { return options_; }

 private:
  NvrtcLibrary nvrtc_;
  std::string architecture_;
  /// Where CUDA's own headers are; may be empty.
  std::vector<std::string> include_folders_;
  std::vector<std::string> options_;
};

/// A compiler's log with `FILE:LINE: ` in place of NVRTC's `FILE(LINE): `, as editors know it.
[[nodiscard]] std::string with_positions(std::string_view log);

}  // namespace overlap
