#pragma once

#include "kernels/kernel_registry.hpp"

#include <stdexcept>
#include <string>
#include <vector>

namespace overlap {

/// A folder of plug-ins is not there, or is no folder. The message names it and the reason.
class PluginFolderError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// A plug-in whose kernels are in a registry.
struct LoadedPlugin {
  std::string file;
  std::string name;
  std::string version;
  std::vector<std::string> kernels;
};

/// What became of a folder's plug-ins, in alphabetical order.
struct PluginFolder {
  std::vector<LoadedPlugin> loaded;
  /// The folder itself is named here if others can write to it or it cannot be listed: nothing of it
  /// was opened then.
  std::vector<RefusedKernels> refused;
};

/// Opens every `*.so` of a folder and adds the kernels of those that can be used, all of a plug-in's
/// or none; what is refused is noted in the registry as well. Loading runs a plug-in's code, so what
/// is opened must be safe from others: folder and file belong to root or to this process's user, and
/// nobody else may write to them. What is checked is what is opened: by descriptor, not by name. A
/// symbolic link counts as what it points to.
///
/// Libraries stay open until the process ends, with a descriptor each: kernels hold pointers into
/// them, and the loader tells libraries apart by the descriptor's number. A plug-in is not found
/// under its own name by the loader, so `$ORIGIN` in its run path leads nowhere.
///
/// Not thread-safe: one thread, before others use the registry.
/// @throws PluginFolderError if the folder cannot be opened
[[nodiscard]] PluginFolder load_plugins(const std::string& folder, KernelRegistry& registry);

}  // namespace overlap
