#include "daemon/plugin_start.hpp"

#include <algorithm>
#include <csignal>
#include <filesystem>
#include <system_error>

namespace overlap {
namespace {

namespace fs = std::filesystem;

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) {
    text += (text.empty() ? "" : ", ") + word;
  }
  return text;
}

/// Blocks every signal while it lives. A library may start threads as it is loaded, which inherit
/// that: signals belong to the daemon's main thread.
class SignalsBlocked {
 public:
  SignalsBlocked() noexcept {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_{};
};

PluginFolder load_quietly(const std::string& folder, KernelRegistry& kernels) {
  const SignalsBlocked blocked;
  return load_plugins(folder, kernels);
}

void log_refused(const RefusedKernels& refused, spdlog::logger& log) {
  log.error("plug-in {} is refused: {}", refused.file, refused.reason);
}

/// @throws PluginFolderError if the folder cannot be opened
void start_folder(const std::string& folder, KernelRegistry& kernels, spdlog::logger& log) {
  const PluginFolder outcome = load_quietly(folder, kernels);
  for (const LoadedPlugin& plugin : outcome.loaded) {
    log.info("plug-in {} ({} {}): {}", plugin.file, plugin.name, plugin.version,
             joined(plugin.kernels));
  }
  for (const RefusedKernels& refused : outcome.refused) {
    log_refused(refused, log);
  }
}

/// Nobody asked for this folder: the daemon serves what else it has, rather than nothing.
/// @return whether it could be opened
bool start_own_folder(const std::string& folder, KernelRegistry& kernels, spdlog::logger& log) {
  try {
    start_folder(folder, kernels, log);
    return true;
  } catch (const PluginFolderError& error) {
    kernels.add_refused({folder, error.what()});
    log_refused(kernels.refused().back(), log);
    return false;
  }
}

}  // namespace

std::optional<std::string> own_plugin_folder() {
  std::error_code error;
  const fs::path program = fs::read_symlink("/proc/self/exe", error);
  if (error) {
    return std::nullopt;
  }
  for (const char* const place : {"kernels", OVERLAP_PLUGIN_FOLDER}) {
    const fs::path folder = (program.parent_path() / place).lexically_normal();
    if (fs::is_directory(folder, error)) {
      return folder.string();
    }
  }
  return std::nullopt;
}

void start_plugins(const std::vector<std::string>& given, const std::optional<std::string>& own,
                   KernelRegistry& kernels, spdlog::logger& log) {
  std::vector<std::string> opened;
  if (own && start_own_folder(*own, kernels, log)) {
    opened.push_back(*own);
  }
  for (const std::string& folder : given) {
    // A second time, every kernel of it would be refused as taken.
    const bool again = std::ranges::any_of(opened, [&folder](const std::string& known) {
      std::error_code error;
      return fs::equivalent(known, folder, error) && !error;
    });
    if (!again) {
      start_folder(folder, kernels, log);
      opened.push_back(folder);
    }
  }
}

}  // namespace overlap
