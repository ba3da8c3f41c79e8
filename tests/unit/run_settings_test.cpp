#include "daemon/run_settings.hpp"

#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <thread>
#include <utility>

namespace overlap {
namespace {

using namespace std::chrono_literals;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;

TEST(RunSettings, CarryEveryLimitToTheControlThread) {
  Options options;
  options.max_slots = 11;
  options.max_slot_bytes = 12 * kMiB;
  options.max_channel_bytes = 13 * kMiB;
  options.max_pinned_bytes = 14 * kMiB;
  options.max_channels = 15;
  options.max_channels_per_uid = 16;
  options.max_priority = ChannelPriority::low;
  options.max_weight = 17;
  const AdmissionLimits sut = control_settings(options).limits;
  EXPECT_EQ(sut.geometry.max_slot_count, 11U);
  EXPECT_EQ(sut.geometry.max_slot_bytes, 12 * kMiB);
  EXPECT_EQ(sut.geometry.max_table_bytes, 12 * kMiB);
  EXPECT_EQ(sut.geometry.max_channel_bytes, 13 * kMiB);
  EXPECT_EQ(sut.max_pinned_bytes, 14 * kMiB);
  EXPECT_EQ(sut.max_channels, 15U);
  EXPECT_EQ(sut.max_channels_per_uid, 16U);
  EXPECT_EQ(sut.share.max_priority, ChannelPriority::low);
  EXPECT_EQ(sut.share.max_weight, 17U);
}

TEST(RunSettings, CarryPinningTimesAndBatches) {
  Options options;
  options.pin_chunk_bytes = 3 * kMiB;
  options.pin_gap = 4us;
  options.reclaim_after = 10ms;
  options.require_pinned = true;
  options.attach_timeout = 5ms;
  options.drain_timeout = 6ms;
  options.idle_spin = 7us;
  options.batch_max_jobs = 8;
  options.batch_max_bytes = 9 * kMiB;
  const ControlSettings sut = control_settings(options);
  EXPECT_EQ(sut.store.pin_chunk_bytes, 3 * kMiB);
  EXPECT_EQ(sut.store.pin_gap, 4us);
  EXPECT_EQ(sut.store.reclaim_after, 10ms);
  EXPECT_TRUE(sut.store.require_pinned);
  EXPECT_EQ(sut.attach_timeout, 5ms);
  EXPECT_EQ(sut.drain_timeout, 6ms);
  EXPECT_EQ(sut.idle.spin, 7us);
  EXPECT_EQ(sut.engine.max_batch_jobs, 8U);
  EXPECT_EQ(sut.engine.max_batch_bytes, 9 * kMiB);
}

TEST(RunSettings, LeaveLanesToTheDeviceUnlessTheyAreGiven) {
  const ControlSettings left = control_settings(Options{});
  EXPECT_EQ(left.engine.lane_count, 0U);
  EXPECT_EQ(left.engine.depth, 0U);
  EXPECT_EQ(left.engine.lane_kind, LaneKind::single);
  Options options;
  options.lanes = 3;
  options.depth = 5;
  options.lane_kind = Options::LaneKind::three;
  const ControlSettings sut = control_settings(options);
  EXPECT_EQ(sut.engine.lane_count, 3U);
  EXPECT_EQ(sut.engine.depth, 5U);
  EXPECT_EQ(sut.engine.lane_kind, LaneKind::three);
}

TEST(RunSettings, SpinAsLongAsSuitsTheMachineUnlessItIsGiven) {
  EXPECT_EQ(control_settings(Options{}).idle.spin,
            default_idle_spin(std::thread::hardware_concurrency()));
}

TEST(RunSettings, CarryPathsTurnsAndWaitingToTheEngine) {
  Options options;
  options.batch_max_wait = 3us;
  options.ahead_max = 4ms;
  options.copy_from_job_bytes = 5 * kMiB;
  options.copy_from_batch_bytes = 6 * kMiB;
  options.copy_from_bytes_a_copy = 7 * kMiB;
  const EngineSettings sut = control_settings(options).engine;
  EXPECT_EQ(sut.max_batch_wait_ns, 3000U);
  EXPECT_EQ(sut.max_ahead_ns, 4'000'000U);
  EXPECT_EQ(sut.path.copy_from_job_bytes, 5 * kMiB);
  EXPECT_EQ(sut.path.copy_from_batch_bytes, 6 * kMiB);
  EXPECT_EQ(sut.path.copy_from_bytes_a_copy, 7 * kMiB);
}

TEST(RunSettings, ForceAPathOnlyWhereOneIsNamed) {
  const auto only = [](Options::PathRule rule) {
    Options options;
    options.path = rule;
    return control_settings(options).engine.path.only;
  };
  EXPECT_EQ(only(Options{}.path), std::nullopt);
  EXPECT_EQ(only(Options::PathRule::automatic), std::nullopt);
  EXPECT_EQ(only(Options::PathRule::copy), Path::copy);
  EXPECT_EQ(only(Options::PathRule::mapped), Path::mapped);
  EXPECT_EQ(only(Options::PathRule::gather), Path::gather);
}

TEST(RunSettings, TurnTheWayToWaitIntoATimeToSpin) {
  const auto idle = [](Options::Wait wait) {
    Options options;
    options.wait = wait;
    options.idle_spin = 7us;
    return control_settings(options).idle;
  };
  EXPECT_EQ(idle(Options::Wait::spin).spin, std::nullopt) << "without end";
  EXPECT_EQ(idle(Options::Wait::sleep).spin, 0ns) << "not at all";
  EXPECT_EQ(idle(Options::Wait::adaptive).spin, 7us);
  EXPECT_GT(idle(Options::Wait::spin).park_after, idle(Options::Wait::adaptive).park_after)
      << "who asks to spin does not want to be parked soon";
}

TEST(RunSettings, HoldNoJobBackByDefault) {
  const EngineSettings sut = control_settings(Options{}).engine;
  EXPECT_EQ(sut.max_batch_wait_ns, 0U);
  EXPECT_EQ(sut.max_batch_jobs, 1024U);
  EXPECT_EQ(sut.max_batch_bytes, 16 * kMiB);
  EXPECT_EQ(sut.max_ahead_ns, 1'000'000U);
}

TEST(RunSettings, LetEverybodyInByDefault) {
  const AdmissionLimits sut = control_settings(Options{}).limits;
  EXPECT_TRUE(sut.allowed_users.empty());
  EXPECT_TRUE(sut.allowed_groups.empty());
}

TEST(RunSettings, TurnNamesOfUsersAndGroupsIntoNumbers) {
  Options options;
  options.allow_users = {"root", "1234"};
  options.allow_groups = {"4321", "root"};
  const AdmissionLimits sut = control_settings(options).limits;
  EXPECT_EQ(sut.allowed_users, (std::vector<uid_t>{0, 1234}));
  EXPECT_EQ(sut.allowed_groups, (std::vector<gid_t>{4321, 0}));
}

TEST(RunSettings, NameTheUserOrGroupThatDoesNotExist) {
  const auto refusal = [](const Options& options) -> std::string {
    try {
      static_cast<void>(control_settings(options));
    } catch (const SettingsError& error) {
      return error.what();
    }
    return "accepted";
  };
  Options users;
  users.allow_users = {"root", "nobody-of-that-name"};
  EXPECT_TRUE(
      testing::says(refusal(users), {"allow-users", "'nobody-of-that-name'", "no such user"}));
  Options groups;
  groups.allow_groups = {"no-group-of-that-name"};
  EXPECT_TRUE(
      testing::says(refusal(groups), {"allow-groups", "'no-group-of-that-name'", "no such group"}));
}

TEST(RunSettings, AskForTheBackendOfTheOptions) {
  const auto asked = [](Options::Backend backend) {
    Options options;
    options.backend = backend;
    return backend_request(options);
  };
  EXPECT_EQ(asked(Options::Backend::automatic), BackendRequest::automatic);
  EXPECT_EQ(asked(Options::Backend::cuda), BackendRequest::cuda);
  EXPECT_EQ(asked(Options::Backend::host), BackendRequest::host);
}

TEST(RunSettings, LogAsTheOptionsSay) {
  using Level = Options::LogLevel;
  for (const auto& [level, expected] :
       {std::pair(Level::trace, spdlog::level::trace),
        std::pair(Level::debug, spdlog::level::debug), std::pair(Level::info, spdlog::level::info),
        std::pair(Level::warning, spdlog::level::warn), std::pair(Level::error, spdlog::level::err),
        std::pair(Level::off, spdlog::level::off)}) {
    Options options;
    options.log_level = level;
    EXPECT_EQ(log_settings(options).level, expected);
    EXPECT_FALSE(log_settings(options).file);
  }
  Options options;
  options.log_file = "/some/where.log";
  EXPECT_EQ(log_settings(options).file, "/some/where.log");
}

}  // namespace
}  // namespace overlap
