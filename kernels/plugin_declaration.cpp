#include "kernels/plugin_declaration.hpp"

#include "kernels/parameter_text.hpp"
#include "kernels/plugin_text.hpp"

#include <cstddef>

namespace overlap {
namespace {

constexpr std::uint32_t kMostKernels = 256;
constexpr std::size_t kMostTextBytes = 64;
constexpr std::size_t kLeastBytes = offsetof(overlap_plugin, kernels) + sizeof(void*);
/// What every version begins with, so that the version itself can be told.
constexpr std::size_t kVersionEnd =
    offsetof(overlap_plugin, abi_minor) + sizeof(overlap_plugin::abi_minor);

std::string version_text(std::uint32_t major, std::uint32_t minor) {
  return std::to_string(major) + "." + std::to_string(minor);
}

std::string line_of(const char* text, const char* what) {
  std::string line = bounded(text, kMostTextBytes + 1);
  if (line.empty() || line.size() > kMostTextBytes || !is_printable(line)) {
    throw PluginError("its " + std::string(what) + " " + quoted(line) +
                      " is not one printable line of 1 to " + std::to_string(kMostTextBytes) +
                      " bytes");
  }
  return line;
}

}  // namespace

PluginDeclaration read_plugin(const overlap_plugin* plugin) {
  if (plugin == nullptr) {
    throw PluginError("its entry says that it cannot work here (it returned null)");
  }
  if (plugin->struct_bytes < kVersionEnd) {
    throw PluginError("its structure has " + std::to_string(plugin->struct_bytes) +
                      " bytes, at least " + std::to_string(kLeastBytes) +
                      " are needed; set struct_bytes to sizeof(overlap_plugin)");
  }
  if (plugin->abi_major != OVERLAP_KERNEL_ABI_MAJOR) {
    throw PluginError("it speaks kernel ABI " + version_text(plugin->abi_major, plugin->abi_minor) +
                      ", this program " +
                      version_text(OVERLAP_KERNEL_ABI_MAJOR, OVERLAP_KERNEL_ABI_MINOR) +
                      "; rebuild it with this version's overlap_kernel.h");
  }
  if (plugin->abi_minor > OVERLAP_KERNEL_ABI_MINOR) {
    throw PluginError("it speaks kernel ABI " + version_text(plugin->abi_major, plugin->abi_minor) +
                      ", this program only up to " +
                      version_text(OVERLAP_KERNEL_ABI_MAJOR, OVERLAP_KERNEL_ABI_MINOR) +
                      "; update overlapd, or rebuild it with this version's overlap_kernel.h");
  }
  if (plugin->struct_bytes < kLeastBytes) {
    throw PluginError("its structure has " + std::to_string(plugin->struct_bytes) +
                      " bytes, at least " + std::to_string(kLeastBytes) +
                      " are needed; set struct_bytes to sizeof(overlap_plugin)");
  }
  if (plugin->kernels == nullptr || plugin->kernel_count == 0 ||
      plugin->kernel_count > kMostKernels) {
    throw PluginError("it declares " + std::to_string(plugin->kernel_count) + " kernels" +
                      (plugin->kernels == nullptr ? " at null" : "") + "; 1 to " +
                      std::to_string(kMostKernels) + " can be loaded");
  }
  PluginDeclaration result{line_of(plugin->name, "name"), line_of(plugin->version, "version"), {}};
  for (std::uint32_t index = 0; index < plugin->kernel_count; ++index) {
    if (plugin->kernels[index] == nullptr) {
      throw PluginError("its kernel number " + std::to_string(index) + " is null");
    }
    result.kernels.push_back(plugin->kernels[index]);
  }
  return result;
}

}  // namespace overlap
