#pragma once

#include "daemon/device/device.hpp"
#include "daemon/options.hpp"
#include "daemon/source/source_kernels.hpp"

namespace overlap {

/// Makes the kernels of the `kernel-source` files for the device that was opened, and registers them;
/// on the host they are declared alone. NVRTC is looked for only if there is a file and a GPU. A kernel
/// that cannot be made stops the start: the log has every line of why.
/// @pre plug-ins are in the registry already; registry and log outlive what is returned
/// @throws SettingsError naming the file, or what is missing
[[nodiscard]] SourceKernels start_source_kernels(const Options& options,
                                                 const DeviceProperties& device,
                                                 KernelRegistry& registry, spdlog::logger& log);

}  // namespace overlap
