#pragma once

#include "kernels/overlap_kernel.h"

#include <stdexcept>
#include <string>
#include <vector>

namespace overlap {

/// Why a plug-in, or a kernel of it, cannot be used. Names the thing, its value and what to do.
class PluginError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// What a plug-in declares of itself, checked.
struct PluginDeclaration {
  std::string name;
  std::string version;
  std::vector<const overlap_kernel*> kernels;
};

/// Checks what a plug-in's entry returned: version of the ABI, sizes, names; not the kernels.
/// @throws PluginError, for null as well
[[nodiscard]] PluginDeclaration read_plugin(const overlap_plugin* plugin);

}  // namespace overlap
