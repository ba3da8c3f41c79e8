// The textbook's figures, from the daemon's own engine and lanes on a device whose time is a number.

#include "daemon/device/virtual_time_device.hpp"
#include "daemon/engine/engine.hpp"
#include "tests/unit/channel_harness.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using testing::ChannelHarness;
using testing::RecordingListener;

struct Setting {
  VirtualCosts costs;
  VirtualResources resources = {};
  LaneKind lane_kind = LaneKind::single;
  std::uint32_t lane_count = 2;
  std::uint32_t depth = 2;
};

/// Runs `job_count` jobs that are all ready at 0, in batches of one.
/// @return when the last one was seen done, in milliseconds
double elapsed_ms(const Setting& setting, std::uint32_t job_count) {
  VirtualTimeDevice device(setting.costs, setting.resources);
  RecordingListener listener;
  EngineSettings settings;
  settings.lane_count = setting.lane_count;
  settings.depth = setting.depth;
  settings.lane_kind = setting.lane_kind;
  settings.max_batch_jobs = 1;
  Engine engine(device, settings, listener);
  ChannelHarness producer(1, {"copy"}, {.slot_count = job_count});
  engine.add(producer.make_channel(), 0);
  for (std::uint32_t i = 0; i < job_count; ++i) {
    producer.submit_filled(i + 1, i, 4096);
  }

  std::vector<CompletionEntry> completed;
  bool going_on = true;
  while (going_on) {
    const bool worked = engine.do_work(device.now_ns()) != 0;
    for (const CompletionEntry& entry : producer.collect()) {
      EXPECT_EQ(static_cast<JobStatus>(entry.status), JobStatus::ok);
      EXPECT_TRUE(producer.output_is_copy(entry.job_id, entry.slot, entry.output_bytes))
          << "job " << entry.job_id;
      completed.push_back(entry);
    }
    going_on = worked || device.advance_to_next();
  }
  EXPECT_EQ(completed.size(), job_count);
  std::uint64_t last_ns = 0;
  for (const CompletionEntry& entry : completed) {
    last_ns = std::max(last_ns, entry.done_ns);
  }
  EXPECT_EQ(last_ns, device.last_end_ns());
  return static_cast<double>(last_ns) / 1e6;
}

constexpr VirtualCosts k10_30_10 = {.copy_in = 10ms, .copy_out = 10ms, .kernel = 30ms};
constexpr VirtualCosts k20_10_20 = {.copy_in = 20ms, .copy_out = 20ms, .kernel = 10ms};

TEST(EngineOverlap, TwoLanesHideTheCopiesBehindTheKernels) {
  const Setting sut{.costs = k10_30_10};
  EXPECT_EQ(elapsed_ms(sut, 1), 50);
  EXPECT_EQ(elapsed_ms(sut, 3), 110);
  EXPECT_EQ(elapsed_ms(sut, 10), 320);
}

TEST(EngineOverlap, OneLaneIsSerial) {
  const Setting sut{.costs = k10_30_10, .lane_count = 1};
  EXPECT_EQ(elapsed_ms(sut, 3), 150);
  EXPECT_EQ(elapsed_ms(sut, 10), 500);
}

TEST(EngineOverlap, AThreeStreamLaneOfDepthOneIsSerial) {
  const Setting sut{.costs = k10_30_10, .lane_kind = LaneKind::three, .lane_count = 1, .depth = 1};
  EXPECT_EQ(elapsed_ms(sut, 3), 150);
  EXPECT_EQ(elapsed_ms(sut, 10), 500);
}

TEST(EngineOverlap, AThreeStreamLaneOfDepthTwoOverlapsWithItself) {
  const Setting sut{.costs = k10_30_10, .lane_kind = LaneKind::three, .lane_count = 1, .depth = 2};
  EXPECT_EQ(elapsed_ms(sut, 3), 110);
  EXPECT_EQ(elapsed_ms(sut, 10), 320);
}

TEST(EngineOverlap, DepthOneShowsTheHostsGap) {
  VirtualCosts costs = k10_30_10;
  costs.host_per_harvest = 2ms;
  const Setting sut{.costs = costs, .lane_count = 1, .depth = 1};
  EXPECT_EQ(elapsed_ms(sut, 3), 154);
  EXPECT_EQ(elapsed_ms(sut, 10), 518);
}

TEST(EngineOverlap, DepthTwoHidesTheHostsGap) {
  VirtualCosts costs = k10_30_10;
  costs.host_per_harvest = 2ms;
  const Setting sut{.costs = costs, .lane_count = 1, .depth = 2};
  EXPECT_EQ(elapsed_ms(sut, 3), 150);
  EXPECT_EQ(elapsed_ms(sut, 10), 500);
}

TEST(EngineOverlap, TwoCopyEnginesServeBothDirectionsAtOnce) {
  const Setting sut{.costs = k20_10_20, .resources = {.copy_engine_count = 2}, .lane_count = 3};
  EXPECT_EQ(elapsed_ms(sut, 3), 90);
  EXPECT_EQ(elapsed_ms(sut, 10), 230);
}

TEST(EngineOverlap, OneCopyEngineIsTheBottleneck) {
  const Setting sut{.costs = k20_10_20, .resources = {.copy_engine_count = 1}, .lane_count = 3};
  EXPECT_EQ(elapsed_ms(sut, 3), 120);
  EXPECT_GE(elapsed_ms(sut, 10), 400);
}

}  // namespace
}  // namespace overlap
