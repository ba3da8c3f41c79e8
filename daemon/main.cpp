#include "daemon/control/control_loop.hpp"
#include "daemon/device/device_choice.hpp"
#include "daemon/exit_code.hpp"
#include "daemon/options.hpp"
#include "daemon/plugin_start.hpp"
#include "daemon/run_settings.hpp"
#include "daemon/service/service_notice.hpp"
#include "daemon/source_start.hpp"
#include "daemon/stop_signals.hpp"
#include "daemon/telemetry/log.hpp"
#include "shared/socket_path.hpp"

#include <unistd.h>
#include <chrono>
#include <cstdio>
#include <exception>
#include <optional>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace overlap {
namespace {

ExitCode run(const LoadedOptions& loaded) {
  const Options& options = loaded.options;
  // Before the first thread: all of them inherit the mask, and one place reads the signals.
  const StopSignals stop_signals;
  raise_descriptor_limit();

  const auto path = daemon_socket_path(options.socket_path, SocketEnvironment::of_this_process());
  if (!path) {
    throw ListenerError(
        "no place for the socket: not root, and neither RUNTIME_DIRECTORY nor XDG_RUNTIME_DIR is "
        "set; choose one with --socket");
  }
  const ControlSettings base = control_settings(options);
  const std::uint32_t workers =
      options.workers.value_or(default_worker_count(std::thread::hardware_concurrency()));
  ChosenDevice chosen = choose_device(backend_request(options), options.device_index, workers);
  Log log(log_settings(options));
  if (!chosen.device) {
    log.logger().critical(chosen.note);
    return ExitCode::no_device;
  }
  ControlSettings settings = base;
  settings.backend_note = chosen.note;
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  start_plugins(options.kernel_paths, own_plugin_folder(), kernels, log.logger());
  SourceKernels source_kernels =
      start_source_kernels(options, chosen.device->properties(), kernels, log.logger());
  std::optional<Listener> listener(std::in_place, *path, options.socket_mode);
  ControlLoop loop(*listener, *chosen.device, kernels, settings, stop_signals.descriptor(),
                   log.logger(), &source_kernels);
  log.logger().info("overlapd {} serves {} ({}) on {}{}", OVERLAP_VERSION,
                    chosen.device->properties().backend, chosen.device->properties().name, *path,
                    chosen.note.empty() ? std::string() : "; " + chosen.note);
  notify_ready("serves " + chosen.device->properties().backend + " (" +
               chosen.device->properties().name + ")");
  const RunOutcome outcome = loop.run();
  if (outcome != RunOutcome::stopped) {
    listener.reset();
    log.drain(std::chrono::milliseconds(200));
    // Nothing of CUDA may run any more, or it would wait for what does not end: no destructor either.
    ::_exit(static_cast<int>(outcome == RunOutcome::device_lost ? ExitCode::device_lost
                                                                : ExitCode::ok));
  }
  log.logger().info("stopped");
  return ExitCode::ok;
}

ExitCode run_command_line(const std::vector<std::string>& arguments) {
  const LoadedOptions loaded = load_options(arguments);
  switch (loaded.action) {
    case OptionsAction::help:
      std::fputs(options_help().c_str(), stdout);
      return ExitCode::ok;
    case OptionsAction::version:
      std::puts("overlapd " OVERLAP_VERSION);
      return ExitCode::ok;
    case OptionsAction::print_config:
      std::fputs(describe(loaded).c_str(), stdout);
      return ExitCode::ok;
    case OptionsAction::run:
      break;
  }
  return run(loaded);
}

}  // namespace
}  // namespace overlap

int main(int argc, char** argv) {
  using overlap::ExitCode;
  ExitCode code = ExitCode::failed;
  try {
    code = overlap::run_command_line({argv + 1, argv + argc});
  } catch (const overlap::OptionsError& error) {
    std::fprintf(stderr, "overlapd: %s\n", error.what());
    code = ExitCode::configuration;
  } catch (const overlap::SettingsError& error) {
    std::fprintf(stderr, "overlapd: %s\n", error.what());
    code = ExitCode::configuration;
  } catch (const overlap::PluginFolderError& error) {
    std::fprintf(stderr, "overlapd: kernel-path: %s\n", error.what());
    code = ExitCode::configuration;
  } catch (const overlap::ListenerError& error) {
    std::fprintf(stderr, "overlapd: %s\n", error.what());
    code = ExitCode::no_socket;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overlapd: %s\n", error.what());
  }
  return static_cast<int>(code);
}
