#include "daemon/options.hpp"

#include <gtest/gtest.h>

#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Arguments = std::vector<std::string>;

/// A configuration file that is gone at the end of the test.
class ConfigFixture {
 public:
  explicit ConfigFixture(const std::string& text) {
    std::string name = ::testing::TempDir() + "overlapd_options_XXXXXX";
    const int descriptor = ::mkstemp(name.data());
    if (descriptor < 0) {
      throw std::runtime_error("mkstemp failed for " + name);
    }
    ::close(descriptor);
    path_ = name;
    std::ofstream(path_, std::ios::binary) << text;
  }
  ~ConfigFixture() { ::unlink(path_.c_str()); }
  ConfigFixture(const ConfigFixture&) = delete;
  ConfigFixture& operator=(const ConfigFixture&) = delete;

  [[nodiscard]] const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

OptionOrigin origin_of(const LoadedOptions& loaded, const std::string& name) {
  for (const OptionOrigin& setting : loaded.origins) {
    if (setting.name == name) {
      return setting;
    }
  }
  ADD_FAILURE() << "no setting " << name;
  return {};
}

TEST(Options, AreTheDefaultsOfTheStructWithoutArguments) {
  const Options sut = load_options({}).options;
  const Options defaults;
  EXPECT_EQ(sut.socket_path, defaults.socket_path);
  EXPECT_EQ(sut.socket_mode, defaults.socket_mode);
  EXPECT_EQ(sut.backend, defaults.backend);
  EXPECT_EQ(sut.device_index, defaults.device_index);
  EXPECT_EQ(sut.lanes, defaults.lanes);
  EXPECT_EQ(sut.depth, defaults.depth);
  EXPECT_EQ(sut.lane_kind, defaults.lane_kind);
  EXPECT_EQ(sut.workers, defaults.workers);
  EXPECT_EQ(sut.batch_max_jobs, defaults.batch_max_jobs);
  EXPECT_EQ(sut.batch_max_bytes, defaults.batch_max_bytes);
  EXPECT_EQ(sut.batch_max_wait, defaults.batch_max_wait);
  EXPECT_EQ(sut.path, defaults.path);
  EXPECT_EQ(sut.copy_from_job_bytes, defaults.copy_from_job_bytes);
  EXPECT_EQ(sut.copy_from_batch_bytes, defaults.copy_from_batch_bytes);
  EXPECT_EQ(sut.copy_from_bytes_a_copy, defaults.copy_from_bytes_a_copy);
  EXPECT_EQ(sut.ahead_max, defaults.ahead_max);
  EXPECT_EQ(sut.wait, defaults.wait);
  EXPECT_EQ(sut.kernel_sources, defaults.kernel_sources);
  EXPECT_EQ(sut.kernel_cache, defaults.kernel_cache);
  EXPECT_EQ(sut.nvrtc_path, defaults.nvrtc_path);
  EXPECT_EQ(sut.max_slots, defaults.max_slots);
  EXPECT_EQ(sut.max_slot_bytes, defaults.max_slot_bytes);
  EXPECT_EQ(sut.max_channel_bytes, defaults.max_channel_bytes);
  EXPECT_EQ(sut.max_pinned_bytes, defaults.max_pinned_bytes);
  EXPECT_EQ(sut.max_channels, defaults.max_channels);
  EXPECT_EQ(sut.max_channels_per_uid, defaults.max_channels_per_uid);
  EXPECT_EQ(sut.max_priority, defaults.max_priority);
  EXPECT_EQ(sut.max_weight, defaults.max_weight);
  EXPECT_EQ(sut.allow_users, defaults.allow_users);
  EXPECT_EQ(sut.allow_groups, defaults.allow_groups);
  EXPECT_EQ(sut.attach_timeout, defaults.attach_timeout);
  EXPECT_EQ(sut.drain_timeout, defaults.drain_timeout);
  EXPECT_EQ(sut.idle_spin, defaults.idle_spin);
  EXPECT_EQ(sut.require_pinned, defaults.require_pinned);
  EXPECT_EQ(sut.pin_chunk_bytes, defaults.pin_chunk_bytes);
  EXPECT_EQ(sut.pin_gap, defaults.pin_gap);
  EXPECT_EQ(sut.reclaim_after, defaults.reclaim_after);
  EXPECT_EQ(sut.kernel_paths, defaults.kernel_paths);
  EXPECT_EQ(sut.log_level, defaults.log_level);
  EXPECT_EQ(sut.log_file, defaults.log_file);
}

TEST(Options, AreAllReadFromTheCommandLine) {
  const LoadedOptions loaded = load_options({"--socket",
                                             "/a b.sock",
                                             "--socket-mode=0600",
                                             "--allow-users=ann,7",
                                             "--allow-groups=video",
                                             "--backend=host",
                                             "--device=3",
                                             "--lanes=8",
                                             "--depth",
                                             "4",
                                             "--lane-kind=three",
                                             "--workers=0",
                                             "--batch-max-jobs=16",
                                             "--batch-max-bytes=1MiB",
                                             "--batch-max-wait=20us",
                                             "--path=gather",
                                             "--copy-from-job-bytes=256KiB",
                                             "--copy-from-batch-bytes=3MiB",
                                             "--copy-from-bytes-a-copy=5MiB",
                                             "--ahead-max=2ms",
                                             "--wait=sleep",
                                             "--kernel-source=/k/a.cu",
                                             "--kernel-cache=/k",
                                             "--nvrtc-path=/n",
                                             "--max-slots=128",
                                             "--max-slot-bytes=64M",
                                             "--max-channel-bytes=1G",
                                             "--max-pinned-bytes=2GiB",
                                             "--max-channels=9",
                                             "--max-channels-per-uid=3",
                                             "--max-priority=low",
                                             "--max-weight=5",
                                             "--attach-timeout=250ms",
                                             "--drain-timeout=1s",
                                             "--idle-spin=0us",
                                             "--require-pinned=yes",
                                             "--pin-chunk=4MiB",
                                             "--pin-gap=500us",
                                             "--reclaim-after=3s",
                                             "--kernel-path=/opt/k:/a b",
                                             "--log-level=debug",
                                             "--log-file=/var/log/overlapd.log"});
  const Options& sut = loaded.options;
  EXPECT_EQ(loaded.action, OptionsAction::run);
  EXPECT_EQ(sut.socket_path, "/a b.sock");
  EXPECT_EQ(sut.socket_mode, 0600U);
  EXPECT_EQ(sut.allow_users, (std::vector<std::string>{"ann", "7"}));
  EXPECT_EQ(sut.allow_groups, std::vector<std::string>{"video"});
  EXPECT_EQ(sut.backend, Options::Backend::host);
  EXPECT_EQ(sut.kernel_paths, (std::vector<std::string>{"/opt/k", "/a b"}));
  EXPECT_EQ(sut.device_index, 3U);
  EXPECT_EQ(sut.lanes, 8U);
  EXPECT_EQ(sut.depth, 4U);
  EXPECT_EQ(sut.lane_kind, Options::LaneKind::three);
  EXPECT_EQ(sut.workers, 0U);
  EXPECT_EQ(sut.batch_max_jobs, 16U);
  EXPECT_EQ(sut.batch_max_bytes, 1'048'576U);
  EXPECT_EQ(sut.batch_max_wait, 20us);
  EXPECT_EQ(sut.path, Options::PathRule::gather);
  EXPECT_EQ(sut.copy_from_job_bytes, 262'144U);
  EXPECT_EQ(sut.copy_from_batch_bytes, 3'145'728U);
  EXPECT_EQ(sut.copy_from_bytes_a_copy, 5'242'880U);
  EXPECT_EQ(sut.ahead_max, 2ms);
  EXPECT_EQ(sut.wait, Options::Wait::sleep);
  EXPECT_EQ(sut.kernel_sources, std::vector<std::string>{"/k/a.cu"});
  EXPECT_EQ(sut.kernel_cache, "/k");
  EXPECT_EQ(sut.nvrtc_path, "/n");
  EXPECT_EQ(sut.max_slots, 128U);
  EXPECT_EQ(sut.max_slot_bytes, 67'108'864U);
  EXPECT_EQ(sut.max_channel_bytes, 1'073'741'824U);
  EXPECT_EQ(sut.max_pinned_bytes, 2'147'483'648U);
  EXPECT_EQ(sut.max_channels, 9U);
  EXPECT_EQ(sut.max_channels_per_uid, 3U);
  EXPECT_EQ(sut.max_priority, ChannelPriority::low);
  EXPECT_EQ(sut.max_weight, 5U);
  EXPECT_EQ(sut.attach_timeout, 250ms);
  EXPECT_EQ(sut.drain_timeout, 1s);
  EXPECT_EQ(sut.idle_spin, 0s);
  EXPECT_TRUE(sut.require_pinned);
  EXPECT_EQ(sut.pin_chunk_bytes, 4'194'304U);
  EXPECT_EQ(sut.pin_gap, 500us);
  EXPECT_EQ(sut.reclaim_after, 3s);
  EXPECT_EQ(sut.log_level, Options::LogLevel::debug);
  EXPECT_EQ(sut.log_file, "/var/log/overlapd.log");
  for (const OptionOrigin& setting : loaded.origins) {
    EXPECT_EQ(setting.origin, "command line") << setting.name;
  }
}

TEST(Options, TakeTheCommandLineOverTheFileOverTheDefaultInAnyOrder) {
  const ConfigFixture file("lanes = 2\n\ndepth = 3\n");
  for (const Arguments& arguments : {Arguments{"--config", file.path(), "--lanes=4"},
                                     Arguments{"--lanes=4", "--config", file.path()}}) {
    const LoadedOptions sut = load_options(arguments);
    EXPECT_EQ(sut.options.lanes, 4U);
    EXPECT_EQ(origin_of(sut, "lanes").origin, "command line");
    EXPECT_EQ(sut.options.depth, 3U);
    EXPECT_EQ(origin_of(sut, "depth").origin, file.path() + ":3");
    EXPECT_EQ(sut.options.max_slots, 65536U);
    EXPECT_EQ(origin_of(sut, "max-slots").origin, "default");
  }
}

TEST(Options, ReadEveryWordOfPathAndWait) {
  using Rule = Options::PathRule;
  using Wait = Options::Wait;
  for (const auto& [word, expected] :
       {std::pair("auto", Rule::automatic), std::pair("copy", Rule::copy),
        std::pair("mapped", Rule::mapped), std::pair("gather", Rule::gather)}) {
    EXPECT_EQ(load_options({std::string("--path=") + word}).options.path, expected);
  }
  for (const auto& [word, expected] :
       {std::pair("spin", Wait::spin), std::pair("adaptive", Wait::adaptive),
        std::pair("sleep", Wait::sleep)}) {
    EXPECT_EQ(load_options({std::string("--wait=") + word}).options.wait, expected);
  }
}

struct Refused {
  Arguments arguments;
  const char* key;
  const char* reason;
};

TEST(Options, RefuseACommandLineThatCouldMeanSomethingElse) {
  for (const Refused& refused : std::initializer_list<Refused>{
           // Abbreviated, unknown, capital and bare words.
           {{"--max-slot=5"}, "max-slot", "unrecognised"},
           {{"--dep=5"}, "dep", "unrecognised"},
           {{"--Depth=5"}, "Depth", "unrecognised"},
           {{"--nothing"}, "nothing", "unrecognised"},
           {{"-x"}, "x", "unrecognised"},
           {{"junk"}, "", "unexpected word 'junk'"},
           {{"--depth=2", "junk"}, "", "unexpected word 'junk'"},
           {{"--", "junk"}, "", "unexpected word 'junk'"},
           {{""}, "", "unexpected word ''"},
           // A value that is missing, empty or swallowed.
           {{"--socket", "--depth=3"}, "socket", "'--depth=3'"},
           {{"--socket", "--depth"}, "socket", "'--depth'"},
           {{"--socket", "-h"}, "socket", "missing"},
           {{"--lanes", "-1"}, "lanes", "'-1'"},
           {{"--socket"}, "socket", "argument"},
           {{"--socket="}, "socket", "argument"},
           {{"--socket", ""}, "socket", "empty"},
           {{"--version=3"}, "version", "argument"},
           // Given twice.
           {{"--depth=2", "--depth=2"}, "depth", "given twice"},
           {{"--kernel-source=a", "--kernel-source=a"}, "kernel-source", "there twice"},
           {{"--config=/a", "--config=/b"}, "config", "given twice"},
           // Numbers that are not what they seem.
           {{"--max-slots=-1"}, "max-slots", "'-1'"},
           {{"--max-slots=0"}, "max-slots", "'0'"},
           {{"--max-slots=65537x"}, "max-slots", "'65537x'"},
           {{"--max-slots=18446744073709551615"}, "max-slots", "is not"},
           {{"--max-slots=64M"}, "max-slots", "'64M'"},
           {{"--max-slots=0x10"}, "max-slots", "'0x10'"},
           {{"--max-slots=1e6"}, "max-slots", "'1e6'"},
           {{"--max-slots= 64"}, "max-slots", "' 64'"},
           {{"--depth=nan"}, "depth", "'nan'"},
           {{"--depth=inf"}, "depth", "'inf'"},
           {{"--max-slot-bytes=64 M"}, "max-slot-bytes", "'64 M'"},
           {{"--max-slot-bytes=1.5G"}, "max-slot-bytes", "'1.5G'"},
           {{"--max-slot-bytes=0"}, "max-slot-bytes", "'0'"},
           {{"--max-slot-bytes=18446744073709551616"}, "max-slot-bytes", "is not"},
           {{"--max-slot-bytes=nan"}, "max-slot-bytes", "'nan'"},
           {{"--pin-chunk=4097"}, "pin-chunk", "multiple of 4096"},
           {{"--attach-timeout=2"}, "attach-timeout", "'2'"},
           {{"--attach-timeout=-1s"}, "attach-timeout", "'-1s'"},
           {{"--idle-spin=2s"}, "idle-spin", "'2s'"},
           {{"--backend=gpu"}, "backend", "auto, cuda, host"},
           {{"--lane-kind=two"}, "lane-kind", "single, three"},
           {{"--batch-max-wait=2s"}, "batch-max-wait", "'2s'"},
           {{"--batch-max-wait=5"}, "batch-max-wait", "'5'"},
           {{"--batch-max-jobs=0"}, "batch-max-jobs", "'0'"},
           {{"--batch-max-jobs=65537"}, "batch-max-jobs", "'65537'"},
           {{"--path=fast"}, "path", "auto, copy, mapped, gather"},
           {{"--copy-from-job-bytes=0"}, "copy-from-job-bytes", "'0'"},
           {{"--copy-from-batch-bytes=1 M"}, "copy-from-batch-bytes", "'1 M'"},
           {{"--copy-from-bytes-a-copy=0"}, "copy-from-bytes-a-copy", "'0'"},
           {{"--ahead-max=-1ms"}, "ahead-max", "'-1ms'"},
           {{"--wait=never"}, "wait", "spin, adaptive, sleep"},
           {{"--log-level=loud"}, "log-level", "trace"},
           {{"--require-pinned=maybe"}, "require-pinned", "no, yes"},
           {{"--socket-mode=rw"}, "socket-mode", "octal"},
           {{"--allow-users=a,,b"}, "allow-users", "commas"},
       }) {
    const std::string shown = ::testing::PrintToString(refused.arguments);
    try {
      static_cast<void>(load_options(refused.arguments));
      ADD_FAILURE() << "accepted: " << shown;
    } catch (const OptionsError& error) {
      EXPECT_EQ(error.file(), "") << shown;
      EXPECT_EQ(error.line(), 0U) << shown;
      EXPECT_EQ(error.key(), refused.key) << shown << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find(refused.reason), std::string::npos) << error.what();
      EXPECT_EQ(std::string(error.what()).find("command line: "), 0U) << error.what();
    }
  }
}

struct RefusedFile {
  const char* text;
  std::size_t line;
  const char* key;
  const char* reason;
};

TEST(Options, RefuseAFileWithItsLineAndKey) {
  for (const RefusedFile& refused : {
           RefusedFile{"lanes=4\nnothing=1\n", 2, "nothing", "unrecognised"},
           RefusedFile{"max-slot=5\n", 1, "max-slot", "unrecognised"},
           RefusedFile{"help=1\n", 1, "help", "unrecognised"},
           RefusedFile{"config=/a\n", 1, "config", "unrecognised"},
           RefusedFile{"\nmax-slots=-1\n", 2, "max-slots", "'-1'"},
           RefusedFile{"max-slot-bytes=64 M\n", 1, "max-slot-bytes", "'64 M'"},
           RefusedFile{"depth=nan\n", 1, "depth", "'nan'"},
           RefusedFile{"depth=2\ndepth=2\n", 2, "depth", "given twice"},
           RefusedFile{"[gpu]\n", 1, "", "no sections"},
           RefusedFile{"socket=\n", 1, "socket", "empty"},
       }) {
    const ConfigFixture file(refused.text);
    try {
      static_cast<void>(load_options({"--config", file.path()}));
      ADD_FAILURE() << "accepted: " << refused.text;
    } catch (const OptionsError& error) {
      EXPECT_EQ(error.file(), file.path()) << refused.text;
      EXPECT_EQ(error.line(), refused.line) << refused.text;
      EXPECT_EQ(error.key(), refused.key) << refused.text << ": " << error.what();
      EXPECT_NE(std::string(error.what()).find(refused.reason), std::string::npos) << error.what();
    }
  }
}

TEST(Options, KeepFileValuesAsTheyAreWritten) {
  const ConfigFixture file("\xEF\xBB\xBFsocket=/a#b --depth=3\r\nlog-file = --x\r\n");
  const Options sut = load_options({"--config=" + file.path()}).options;
  EXPECT_EQ(sut.socket_path, "/a#b --depth=3");
  EXPECT_EQ(sut.depth, std::nullopt);
  EXPECT_EQ(sut.log_file, "--x");
}

TEST(Options, TakeAValueThatLooksLikeAnOptionIfItIsJoined) {
  EXPECT_EQ(load_options({"--socket=--depth=3"}).options.socket_path, "--depth=3");
}

TEST(Options, CollectWhatMayBeGivenSeveralTimes) {
  const LoadedOptions sut = load_options({"--kernel-source=a.cu", "--depth=2", "--kernel-source",
                                          "b.cu", "--kernel-cache=off", "--nvrtc-path=/n"});
  EXPECT_EQ(sut.options.kernel_sources, (std::vector<std::string>{"a.cu", "b.cu"}));
  EXPECT_EQ(sut.options.kernel_cache, "off");
  EXPECT_EQ(sut.options.nvrtc_path, "/n");
  EXPECT_EQ(origin_of(sut, "kernel-source").value, "a.cu, b.cu");
  EXPECT_EQ(origin_of(sut, "kernel-source").origin, "command line");
}

TEST(Options, TakeTheCommandLinesListInsteadOfTheFiles) {
  const ConfigFixture file("kernel-source = a.cu\nkernel-source = b.cu\n");
  const LoadedOptions of_file = load_options({"--config", file.path()});
  EXPECT_EQ(of_file.options.kernel_sources, (std::vector<std::string>{"a.cu", "b.cu"}));
  EXPECT_EQ(origin_of(of_file, "kernel-source").origin, file.path() + ":2");
  const LoadedOptions sut =
      load_options({"--config", file.path(), "--kernel-source=c.cu", "--kernel-source=a.cu"});
  EXPECT_EQ(sut.options.kernel_sources, (std::vector<std::string>{"c.cu", "a.cu"}));
  EXPECT_EQ(origin_of(sut, "kernel-source").value, "c.cu, a.cu");
}

TEST(Options, RefuseAFileThatIsNotThere) {
  EXPECT_THROW(static_cast<void>(load_options({"--config=/nowhere/overlapd.conf"})), OptionsError);
}

TEST(Options, SayWhatIsAskedForAndReadNoFileForHelp) {
  EXPECT_EQ(load_options({"--help"}).action, OptionsAction::help);
  EXPECT_EQ(load_options({"-h"}).action, OptionsAction::help);
  EXPECT_EQ(load_options({"--version"}).action, OptionsAction::version);
  EXPECT_EQ(load_options({"--print-config"}).action, OptionsAction::print_config);
  EXPECT_EQ(load_options({"--help", "--config=/nowhere"}).action, OptionsAction::help);
}

TEST(Options, AreAllInTheHelp) {
  const std::string sut = options_help();
  for (const OptionOrigin& setting : load_options({}).origins) {
    EXPECT_NE(sut.find("--" + setting.name), std::string::npos) << setting.name;
  }
}

TEST(Options, AreDescribedWithValueAndOrigin) {
  const ConfigFixture file("depth = 3\n");
  const std::string sut =
      describe(load_options({"--config", file.path(), "--print-config", "--lanes=4"}));
  EXPECT_NE(sut.find("\nlanes                  = 4"), std::string::npos) << sut;
  EXPECT_NE(sut.find("(command line)\n"), std::string::npos) << sut;
  EXPECT_NE(sut.find("(" + file.path() + ":1)\n"), std::string::npos) << sut;
  EXPECT_NE(sut.find("(default)\n"), std::string::npos) << sut;
}

TEST(Options, GiveSmallMachinesNoWorkers) {
  EXPECT_EQ(default_worker_count(0), 0U);
  EXPECT_EQ(default_worker_count(1), 0U);
  EXPECT_EQ(default_worker_count(2), 0U);
  EXPECT_EQ(default_worker_count(3), 2U);
  EXPECT_EQ(default_worker_count(16), 15U);
}

}  // namespace
}  // namespace overlap
