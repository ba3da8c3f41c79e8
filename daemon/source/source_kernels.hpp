#pragma once

#include "daemon/device/source_toolchain.hpp"
#include "daemon/source/kernel_cache.hpp"
#include "kernels/kernel_registry.hpp"

#include <spdlog/logger.h>

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {

/// Logs a text line by line, as a compiler's log has many.
void log_lines(spdlog::logger& log, spdlog::level::level_enum level, std::string_view text);

/// The kernels of the `kernel-source` files: read, compiled or found in the cache, registered, and
/// replaced when their files have changed.
///
/// A file keeps its kernel's name for the life of the daemon. If a plug-in has a kernel of that name
/// without a CUDA side, the file gives it one.
///
/// Thread safety: restricted: one thread at a time; `load` and `apply` on the one that owns the
/// registry.
class SourceKernels {
 public:
  /// @param files none of them twice
  /// @param toolchain null where there is no GPU: kernels are declared then, but cannot be launched
  /// @pre registry and log outlive it
  SourceKernels(std::vector<std::string> files, std::unique_ptr<const SourceToolchain> toolchain,
                KernelCache cache, KernelRegistry& registry, spdlog::logger& log);

  /// Makes every kernel and registers it.
  /// @throws SourceError for the first file that gives none: unreadable, declared wrongly, taken
  ///         name, not compiled; with the compiler's whole log
  void load();

  /// Makes those anew whose files have changed; nothing is in service yet. May take seconds. What
  /// fails is kept for `apply` to say.
  void rebuild() noexcept;
  /// Puts in service what `rebuild` made, for pipelines that are read from now on, and says in the log
  /// what happened to each file. What was not made leaves the old one in service.
  void apply();

  [[nodiscard]] bool empty() const noexcept { return sources_.empty(); }

 private:
  struct Source {
    std::string file;
    /// What the kernel in service was made of.
    std::string text;
    std::string kernel_name;
    const Kernel* host = nullptr;
  };
  /// What a rebuild made of a source. Neither kernel nor error: nothing has changed.
  struct Rebuilt {
    std::string text;
    std::unique_ptr<SourceKernel> kernel;
    std::string error;
  };

  /// @throws SourceError
  [[nodiscard]] std::string read(const std::string& file) const;
  [[nodiscard]] std::unique_ptr<SourceKernel> make(SourceDeclaration declaration,
                                                   const std::string& text,
                                                   const Kernel* host) const;
  [[nodiscard]] std::unique_ptr<const SourceCode> code_of(const SourceProgram& program) const;
  [[nodiscard]] Rebuilt rebuilt(const Source& source) const;

  std::unique_ptr<const SourceToolchain> toolchain_;
  KernelCache cache_;
  KernelRegistry& registry_;
  spdlog::logger& log_;
  std::vector<Source> sources_;
  /// One for each source, between `rebuild` and `apply`.
  std::vector<Rebuilt> rebuilt_;
};

}  // namespace overlap
