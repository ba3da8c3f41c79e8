#include "daemon/source_start.hpp"

#include "daemon/run_settings.hpp"

#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace overlap {

SourceKernels start_source_kernels(const Options& options, const DeviceProperties& device,
                                   KernelRegistry& registry, spdlog::logger& log) {
  const bool compiles = !options.kernel_sources.empty() && device.backend == "cuda";
  std::unique_ptr<const SourceToolchain> toolchain;
  if (compiles) {
    try {
      toolchain = make_source_toolchain(options.device_index, options.nvrtc_path);
    } catch (const std::runtime_error& error) {
      throw SettingsError(std::string("kernel-source: ") + error.what());
    }
  }
  KernelCache cache(
      compiles ? kernel_cache_folder(options.kernel_cache, CacheEnvironment::of_this_process())
               : std::nullopt,
      log);
  SourceKernels kernels(options.kernel_sources, std::move(toolchain), std::move(cache), registry,
                        log);
  try {
    kernels.load();
  } catch (const SourceError& error) {
    const std::string text = error.what();
    log_lines(log, spdlog::level::critical, text);
    throw SettingsError("kernel-source: " + text.substr(0, text.find('\n')));
  }
  return kernels;
}

}  // namespace overlap
