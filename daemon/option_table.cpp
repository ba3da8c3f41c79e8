#include "daemon/option_table.hpp"

#include "daemon/option_value.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

namespace overlap {
namespace {

using std::chrono::seconds;

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kGiB = kKiB * kKiB * kKiB;
constexpr std::uint64_t kTiB = kKiB * kGiB;
constexpr std::uint32_t kAnyCount = std::numeric_limits<std::uint32_t>::max();

// In the order of the enumerations.
constexpr std::array<std::string_view, 3> kBackends{"auto", "cuda", "host"};
constexpr std::array<std::string_view, 2> kLaneKinds{"single", "three"};
constexpr std::array<std::string_view, 4> kPathRules{"auto", "copy", "mapped", "gather"};
constexpr std::array<std::string_view, 3> kWaits{"spin", "adaptive", "sleep"};
constexpr std::array<std::string_view, kChannelPriorityCount> kPriorities{"normal", "high", "low"};
constexpr std::array<std::string_view, 6> kLogLevels{"trace",   "debug", "info",
                                                     "warning", "error", "off"};

template <typename Enum, std::size_t kCount>
Enum read_enum(std::string_view text, const std::array<std::string_view, kCount>& words) {
  return static_cast<Enum>(read_word(text, words));
}

const std::array kSettings{
    OptionSetting{"socket", "", "path to listen at; default: chosen from the environment",
                  [](std::string_view text, Options& o) { o.socket_path = std::string(text); }},
    OptionSetting{"socket-mode", "0660", "permissions of the socket, octal",
                  [](std::string_view text, Options& o) { o.socket_mode = read_mode(text); }},
    OptionSetting{"allow-users", "any", "names or uids that may attach, separated by commas",
                  [](std::string_view text, Options& o) { o.allow_users = read_names(text); }},
    OptionSetting{"allow-groups", "any", "groups or gids that may attach, separated by commas",
                  [](std::string_view text, Options& o) { o.allow_groups = read_names(text); }},
    OptionSetting{"backend", "auto", "auto, cuda or host; cuda fails rather than fall back",
                  [](std::string_view text, Options& o) {
                    o.backend = read_enum<Options::Backend>(text, kBackends);
                  }},
    OptionSetting{
        "device", "0", "index of the GPU",
        [](std::string_view text, Options& o) { o.device_index = read_count(text, 0, 1023); }},
    OptionSetting{
        "lanes", "auto", "streams that work side by side; auto: 8 on a GPU",
        [](std::string_view text, Options& o) { o.lanes = read_count_or_auto(text, 1, 64); }},
    OptionSetting{
        "depth", "auto", "batches in flight on each lane; auto: 2, 1 on the engine's own thread",
        [](std::string_view text, Options& o) { o.depth = read_count_or_auto(text, 1, 64); }},
    OptionSetting{"lane-kind", "single", "single: one stream a lane; three: in, compute, out",
                  [](std::string_view text, Options& o) {
                    o.lane_kind = read_enum<Options::LaneKind>(text, kLaneKinds);
                  }},
    OptionSetting{
        "workers", "auto", "host threads; 0: the engine's own; auto: by the machine's cores",
        [](std::string_view text, Options& o) { o.workers = read_count_or_auto(text, 0, 1024); }},
    OptionSetting{
        "batch-max-jobs", "1024", "most jobs issued together",
        [](std::string_view text, Options& o) { o.batch_max_jobs = read_count(text, 1, 65536); }},
    OptionSetting{
        "batch-max-bytes", "16MiB", "most input bytes issued together (one job may be more)",
        [](std::string_view text, Options& o) { o.batch_max_bytes = read_bytes(text, 1, kTiB); }},
    OptionSetting{"batch-max-wait", "0s",
                  "how long a job waits for others to join it; 0s: never while a lane is free",
                  [](std::string_view text, Options& o) {
                    o.batch_max_wait = read_duration(text, seconds(1));
                  }},
    OptionSetting{
        "path", "auto",
        "auto; copy: copy engines; mapped: kernels read slots over the bus where they can; "
        "gather: a kernel gathers slots",
        [](std::string_view text, Options& o) {
          o.path = read_enum<Options::PathRule>(text, kPathRules);
        }},
    OptionSetting{"copy-from-job-bytes", "64KiB",
                  "path auto: copy engines carry jobs from this size",
                  [](std::string_view text, Options& o) {
                    o.copy_from_job_bytes = read_bytes(text, 1, kTiB);
                  }},
    OptionSetting{"copy-from-batch-bytes", "2MiB", "path auto: and only in batches from this size",
                  [](std::string_view text, Options& o) {
                    o.copy_from_batch_bytes = read_bytes(text, 1, kTiB);
                  }},
    OptionSetting{"copy-from-bytes-a-copy", "1MiB",
                  "path auto: and only where a copy, within a pin-chunk, carries so much on "
                  "average; evenly spaced slots are one copy",
                  [](std::string_view text, Options& o) {
                    o.copy_from_bytes_a_copy = read_bytes(text, 1, kTiB);
                  }},
    OptionSetting{"ahead-max", "1ms",
                  "device time issued beyond the running batch while several producers are served, "
                  "and of one batch",
                  [](std::string_view text, Options& o) {
                    o.ahead_max = read_duration(text, seconds(3600));
                  }},
    OptionSetting{
        "wait", "adaptive",
        "spin: look for work without end; adaptive: for idle-spin, then sleep; sleep: at "
        "once",
        [](std::string_view text, Options& o) { o.wait = read_enum<Options::Wait>(text, kWaits); }},
    OptionSetting{
        "kernel-source", "",
        "CUDA source of a kernel (*.cu), compiled at start and anew on SIGHUP; may be given "
        "several times",
        [](std::string_view text, Options& o) {
          if (std::ranges::find(o.kernel_sources, text) != o.kernel_sources.end()) {
            throw OptionValueError("'" + std::string(text) + "' is there twice");
          }
          o.kernel_sources.emplace_back(text);
        },
        true},
    OptionSetting{"kernel-cache", "",
                  "folder for compiled kernels, or off; default: chosen from the environment",
                  [](std::string_view text, Options& o) { o.kernel_cache = std::string(text); }},
    OptionSetting{"nvrtc-path", "",
                  "NVRTC's library or its folder; default: where the system has it",
                  [](std::string_view text, Options& o) { o.nvrtc_path = std::string(text); }},
    OptionSetting{
        "max-slots", "65536", "most slots of a channel",
        [](std::string_view text, Options& o) { o.max_slots = read_count(text, 1, 1U << 30U); }},
    OptionSetting{
        "max-slot-bytes", "1GiB", "most bytes of a slot's input or output",
        [](std::string_view text, Options& o) { o.max_slot_bytes = read_bytes(text, 1, kTiB); }},
    OptionSetting{"max-channel-bytes", "4GiB", "most memory of one channel",
                  [](std::string_view text, Options& o) {
                    o.max_channel_bytes = read_bytes(text, 4 * kKiB, kKiB * kTiB);
                  }},
    OptionSetting{"max-pinned-bytes", "16GiB", "most memory of all channels together",
                  [](std::string_view text, Options& o) {
                    o.max_pinned_bytes = read_bytes(text, 4 * kKiB, kKiB * kTiB);
                  }},
    OptionSetting{
        "max-channels", "4096", "most channels at a time",
        [](std::string_view text, Options& o) { o.max_channels = read_count(text, 1, kAnyCount); }},
    OptionSetting{"max-channels-per-uid", "2048", "most channels of one user at a time",
                  [](std::string_view text, Options& o) {
                    o.max_channels_per_uid = read_count(text, 1, kAnyCount);
                  }},
    OptionSetting{"max-priority", "high",
                  "low, normal or high: the highest that a producer may ask for",
                  [](std::string_view text, Options& o) {
                    o.max_priority = read_enum<ChannelPriority>(text, kPriorities);
                  }},
    OptionSetting{"max-weight", "64", "most weight that a producer may ask for",
                  [](std::string_view text, Options& o) {
                    o.max_weight = read_count(text, 1, kMaxChannelWeight);
                  }},
    OptionSetting{"attach-timeout", "2s", "how long an attaching producer may take to answer",
                  [](std::string_view text, Options& o) {
                    o.attach_timeout = read_duration(text, seconds(3600));
                  }},
    OptionSetting{"drain-timeout", "5s", "how long jobs may take to finish when stopping",
                  [](std::string_view text, Options& o) {
                    o.drain_timeout = read_duration(text, seconds(3600));
                  }},
    OptionSetting{"idle-spin", "auto",
                  "wait adaptive: how long to look for work; auto: 50us, 0 on up to two cores",
                  [](std::string_view text, Options& o) {
                    o.idle_spin = text == "auto" ? std::nullopt
                                                 : std::optional(read_duration(text, seconds(1)));
                  }},
    OptionSetting{"require-pinned", "no", "yes: refuse a channel whose memory cannot be pinned",
                  [](std::string_view text, Options& o) { o.require_pinned = read_yes_no(text); }},
    OptionSetting{"pin-chunk", "16MiB", "bytes pinned in one call, a multiple of 4096",
                  [](std::string_view text, Options& o) {
                    o.pin_chunk_bytes = read_bytes(text, 4 * kKiB, kGiB);
                    if (o.pin_chunk_bytes % (4 * kKiB) != 0) {
                      throw OptionValueError("'" + std::string(text) +
                                             "' is not a multiple of 4096");
                    }
                  }},
    OptionSetting{
        "pin-gap", "1ms", "pause between two such calls while jobs run",
        [](std::string_view text, Options& o) { o.pin_gap = read_duration(text, seconds(1)); }},
    OptionSetting{"reclaim-after", "10s",
                  "how long to wait for a moment without long batches before unpinning",
                  [](std::string_view text, Options& o) {
                    o.reclaim_after = read_duration(text, seconds(3600));
                  }},
    OptionSetting{
        "kernel-path", "",
        "folders with plug-ins (*.so) to load, separated by ':', besides the daemon's own",
        [](std::string_view text, Options& o) { o.kernel_paths = read_paths(text); }},
    OptionSetting{"log-level", "info", "trace, debug, info, warning, error or off",
                  [](std::string_view text, Options& o) {
                    o.log_level = read_enum<Options::LogLevel>(text, kLogLevels);
                  }},
    OptionSetting{"log-file", "", "file to append the log to; default: standard error",
                  [](std::string_view text, Options& o) { o.log_file = std::string(text); }},
};

}  // namespace

std::span<const OptionSetting> option_table() noexcept { return kSettings; }

}  // namespace overlap
