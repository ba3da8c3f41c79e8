#pragma once

#include "kernels/kernel_registry.hpp"
#include "kernels/plugin_library.hpp"

#include <spdlog/logger.h>

#include <optional>
#include <string>
#include <vector>

namespace overlap {

/// The folder of the plug-ins that come with this program: `kernels` beside it, as in a build, or
/// where its installation puts them. Empty if neither is there.
[[nodiscard]] std::optional<std::string> own_plugin_folder();

/// Loads the daemon's own plug-ins and those of the given folders, each folder once, with a line in
/// the log for each plug-in: its kernels, or, as an error, why it was refused. Neither ends the
/// start, nor does a folder of its own that cannot be opened, which counts as refused.
/// @param given of `kernel-path`
/// @throws PluginFolderError for a given folder that cannot be opened
void start_plugins(const std::vector<std::string>& given, const std::optional<std::string>& own,
                   KernelRegistry& kernels, spdlog::logger& log);

}  // namespace overlap
