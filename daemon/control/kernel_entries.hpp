#pragma once

#include "kernels/kernel_registry.hpp"
#include "shared/kernel_list.hpp"

#include <cstdint>

namespace overlap {

/// A kernel as a list shows it: what it is like with its default parameters.
[[nodiscard]] ListedKernel listed_kernel(const Kernel& kernel);

/// One entry of the list of kernels: those that are loaded, in alphabetical order, then the files
/// that were refused. Of no kind beyond them.
[[nodiscard]] KernelListReply kernel_entry(const KernelRegistry& kernels, std::uint32_t index);

}  // namespace overlap
