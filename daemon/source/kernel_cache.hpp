#pragma once

#include "daemon/device/source_toolchain.hpp"

#include <spdlog/logger.h>

#include <optional>
#include <string>
#include <string_view>

namespace overlap {

/// What the choice of a cache folder depends on. An empty variable counts as one that is not set.
struct CacheEnvironment {
  /// `$CACHE_DIRECTORY`: what systemd made for the service, entries separated by `:`.
  std::string cache_directory;
  /// `$XDG_CACHE_HOME`
  std::string xdg_cache_home;
  /// `$HOME`
  std::string home;

  /// The environment of the calling process.
  [[nodiscard]] static CacheEnvironment of_this_process();
};

/// Where compiled kernels are kept: `option` (`--kernel-cache`), else the first entry of
/// `$CACHE_DIRECTORY`, else `$XDG_CACHE_HOME/overlapd`, else `$HOME/.cache/overlapd`.
///
/// Thread safety: any.
/// @param option empty: as above; `off`: nowhere
/// @return empty for no cache: it was switched off, or none of the variables is an absolute path
[[nodiscard]] std::optional<std::string> kernel_cache_folder(
    const std::optional<std::string>& option, const CacheEnvironment& environment);

/// Compiled kernels in a folder, each with the whole text of what it was made of and for. An entry is
/// used only if that text is the same, byte for byte; its name is a hash, and may be anybody's.
///
/// Only what nobody else can write is believed: the folder and its entries belong to this user (or to
/// root) and are writable by no other. What is damaged or foreign is ignored with a line in the log,
/// and so is a folder that cannot be used. Thread safety: any, and any number of processes.
class KernelCache {
 public:
  /// @param folder made if it is not there; empty: nothing is kept
  /// @pre the log outlives it
  KernelCache(std::optional<std::string> folder, spdlog::logger& log);

  /// @param key all that the compiled code depends on
  [[nodiscard]] std::optional<CompiledSource> find(std::string_view key) const;
  /// Written in one step: whoever looks meanwhile finds the old entry, none, or the new one whole.
  void store(std::string_view key, const CompiledSource& compiled) const;

  /// Whether anything is kept.
  [[nodiscard]] explicit operator bool() const noexcept { return folder_.has_value(); }
  /// The file of an entry. @pre it keeps something
  [[nodiscard]] std::string entry_path(std::string_view key) const;

 private:
  std::optional<std::string> folder_;
  spdlog::logger& log_;
};

}  // namespace overlap
