#pragma once

#include "daemon/config_file.hpp"
#include "shared/channel_priority.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overlap {

/// Every setting of the daemon, as plain values. The table in `option_table.cpp` has the ranges.
struct Options {
  enum class Backend : std::uint8_t { automatic, cuda, host };
  enum class LaneKind : std::uint8_t { single, three };
  enum class LogLevel : std::uint8_t { trace, debug, info, warning, error, off };

  /// Empty: `daemon_socket_path` chooses.
  std::optional<std::string> socket_path;
  /// Permission bits of the socket.
  std::uint32_t socket_mode = 0660;

  Backend backend = Backend::automatic;
  std::uint32_t device_index = 0;
  /// Empty: 8 on CUDA; on the host one a worker.
  std::optional<std::uint32_t> lanes;
  /// Batches in flight on each lane. Empty: 2, or 1 where batches run on the engine's own thread.
  std::optional<std::uint32_t> depth;
  LaneKind lane_kind = LaneKind::single;
  /// Empty: `default_worker_count`. 0: batches run on the engine's own thread.
  std::optional<std::uint32_t> workers;

  enum class PathRule : std::uint8_t { automatic, copy, mapped, gather };
  enum class Wait : std::uint8_t { spin, adaptive, sleep };

  std::uint32_t batch_max_jobs = 1024;
  std::uint64_t batch_max_bytes = std::uint64_t{16} << 20U;
  /// How long a job may be held back for others to join its batch.
  std::chrono::nanoseconds batch_max_wait{0};
  PathRule path = PathRule::automatic;
  /// With `automatic`: copy engines carry jobs from this size on, in batches from that size on, where
  /// neighbouring slots make copies of so many bytes each.
  std::uint64_t copy_from_job_bytes = std::uint64_t{64} << 10U;
  std::uint64_t copy_from_batch_bytes = std::uint64_t{2} << 20U;
  std::uint64_t copy_from_bytes_a_copy = std::uint64_t{1} << 20U;
  /// Device time issued beyond the running batch while several channels are served.
  std::chrono::nanoseconds ahead_max = std::chrono::milliseconds(1);
  Wait wait = Wait::adaptive;

  /// Files with CUDA source, each of one kernel.
  std::vector<std::string> kernel_sources;
  /// Empty: `kernel_cache_folder` chooses. `off`: none.
  std::optional<std::string> kernel_cache;
  /// Empty: wherever NVRTC is found.
  std::optional<std::string> nvrtc_path;

  std::uint32_t max_slots = 65536;
  std::uint64_t max_slot_bytes = std::uint64_t{1} << 30U;
  std::uint64_t max_channel_bytes = std::uint64_t{4} << 30U;
  std::uint64_t max_pinned_bytes = std::uint64_t{16} << 30U;
  std::uint32_t max_channels = 4096;
  std::uint32_t max_channels_per_uid = 2048;
  /// The highest that a producer may ask for.
  ChannelPriority max_priority = ChannelPriority::high;
  std::uint32_t max_weight = kMaxChannelWeight;
  /// Names or numbers. Both empty: everyone who can reach the socket.
  std::vector<std::string> allow_users;
  std::vector<std::string> allow_groups;

  std::chrono::nanoseconds attach_timeout = std::chrono::seconds(2);
  std::chrono::nanoseconds drain_timeout = std::chrono::seconds(5);
  /// How long the engine looks for work before it sleeps. Empty: `default_idle_spin`.
  std::optional<std::chrono::nanoseconds> idle_spin;

  /// Refuse a channel whose memory cannot be pinned, rather than go on unpinned.
  bool require_pinned = false;
  /// Bytes pinned in one call; a multiple of 4096.
  std::uint64_t pin_chunk_bytes = std::uint64_t{16} << 20U;
  /// Pause between two such calls, while jobs run.
  std::chrono::nanoseconds pin_gap = std::chrono::milliseconds(1);
  /// How long memory that producers left may wait for a moment without long batches.
  std::chrono::nanoseconds reclaim_after = std::chrono::seconds(10);

  /// Folders with plug-ins, besides the daemon's own.
  std::vector<std::string> kernel_paths;

  LogLevel log_level = LogLevel::info;
  /// Empty: standard error.
  std::optional<std::string> log_file;
};

/// One setting as it is in force, and who said so.
struct OptionOrigin {
  std::string name;
  /// As written; for a default, the text that would give it.
  std::string value;
  /// `default`, `command line` or `file:line`.
  std::string origin;
};

/// What the command line asks for.
enum class OptionsAction : std::uint8_t { run, help, version, print_config };

struct LoadedOptions {
  OptionsAction action = OptionsAction::run;
  Options options;
  /// Every setting, in the order of the help.
  std::vector<OptionOrigin> origins;
};

/// Reads the command line and the file that its `--config` names. Command line over file over
/// default. For `--help` and `--version` the file is not read.
///
/// Thread safety: any.
/// @param arguments without the program's name
/// @throws OptionsError naming file, line and key: unknown or abbreviated names, stray words, an
///         option where a value belongs (`--socket --depth=3`), anything given twice that does not
///         repeat, a value that is malformed or out of range
[[nodiscard]] LoadedOptions load_options(const std::vector<std::string>& arguments);

/// The text of `--help`.
[[nodiscard]] std::string options_help();

/// The text of `--print-config`: name, value and origin of every setting.
[[nodiscard]] std::string describe(const LoadedOptions& loaded);

/// Host worker threads where none are asked for: 0 up to two cores (a worker would only take turns
/// with the engine and the producer), else one less than there are cores.
[[nodiscard]] constexpr std::uint32_t default_worker_count(std::uint32_t core_count) noexcept {
  return core_count <= 2 ? 0 : core_count - 1;
}

/// How long the engine spins where nothing is asked for: not at all up to two cores, where it would
/// take the time from the producer that it waits for.
[[nodiscard]] constexpr std::chrono::nanoseconds default_idle_spin(
    std::uint32_t core_count) noexcept {
  return std::chrono::microseconds(core_count <= 2 ? 0 : 50);
}

}  // namespace overlap
