#include "daemon/engine/batch_table.hpp"

#include "daemon/device/virtual_time_device.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <string>
#include <utility>

namespace overlap {
namespace {

class BatchTableOf : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  const std::uint32_t max_jobs = GetParam();
  VirtualTimeDevice device{VirtualCosts{}};
  BatchTable sut{device, max_jobs};
};

/// Every cell of the table written with a value of its own; then every one read back.
TEST_P(BatchTableOf, CellsLieApart) {
  for (std::size_t stage = 0; stage < kMaxStages; ++stage) {
    std::array<overlap_param_value, kMaxStageParameters> params{};
    for (std::size_t i = 0; i < params.size(); ++i) {
      params[i].choice_index = stage * 100 + i;
    }
    sut.begin_stage(stage, params, max_jobs);
    for (std::uint32_t job = 0; job < max_jobs; ++job) {
      sut.link_item(stage, job, stage * 10'000 + job);
      sut.item(stage, job).input_bytes = stage * 1'000'000 + job;
    }
  }
  for (std::size_t stage = 0; stage < kMaxStages; ++stage) {
    for (std::uint32_t job = 0; job < max_jobs; ++job) {
      const overlap_batch_item& item = std::as_const(sut).item(stage, job);
      ASSERT_EQ(item.input_bytes, stage * 1'000'000 + job);
      ASSERT_EQ(*item.output_bytes, stage * 10'000 + job);
      ASSERT_EQ(sut.output_bytes(stage, job), stage * 10'000 + job);
      ASSERT_EQ(*item.status, static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
      for (std::size_t i = 0; i < kMaxStageParameters; ++i) {
        ASSERT_EQ(item.params[i].choice_index, stage * 100 + i);
      }
    }
  }
}

TEST_P(BatchTableOf, LinkedItemsAreStatelessAndWithoutTable) {
  std::memset(&sut.item(0, 0), 0xff, sizeof(overlap_batch_item));
  sut.link_item(0, 0, 1);
  EXPECT_EQ(sut.item(0, 0).state, nullptr);
  EXPECT_EQ(sut.item(0, 0).table, nullptr);
  EXPECT_EQ(sut.item(0, 0).table_bytes, 0U);
}

TEST_P(BatchTableOf, EveryStageHasAStatusOfItsOwn) {
  const std::uint32_t job = max_jobs - 1;
  for (std::size_t stage = 0; stage < 3; ++stage) {
    sut.begin_stage(stage, {}, max_jobs);
    sut.link_item(stage, job, 1);
  }
  EXPECT_EQ(sut.status(2, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
  *sut.item(2, job).status = OVERLAP_ITEM_FAILED;
  EXPECT_EQ(sut.status(2, job), static_cast<std::uint32_t>(OVERLAP_ITEM_FAILED));
  EXPECT_EQ(sut.status(1, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
  *sut.item(1, job).status = OVERLAP_ITEM_OUTPUT_TOO_SMALL;
  EXPECT_EQ(sut.status(1, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OUTPUT_TOO_SMALL));
  EXPECT_EQ(sut.status(0, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
}

TEST_P(BatchTableOf, ANewBatchForgetsWhatTheLastOneReported) {
  sut.begin_stage(0, {}, max_jobs);
  for (std::uint32_t job = 0; job < max_jobs; ++job) {
    sut.link_item(0, job, 1);
    *sut.item(0, job).status = OVERLAP_ITEM_FAILED;
  }
  sut.begin_stage(0, {}, max_jobs);
  for (std::uint32_t job = 0; job < max_jobs; ++job) {
    ASSERT_EQ(sut.status(0, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
  }
}

TEST_P(BatchTableOf, ABatchIsWhatAKernelTakes) {
  const overlap_param_value value{.f64 = 2.5};
  sut.begin_stage(3, {&value, 1}, 1);
  sut.link_item(3, 0, 77);
  const overlap_batch batch = sut.batch(3, 1, 1, 4096);
  EXPECT_EQ(batch.struct_bytes, sizeof(overlap_batch));
  EXPECT_EQ(batch.item_stride_bytes, sizeof(overlap_batch_item));
  EXPECT_EQ(batch.item_count, 1U);
  EXPECT_EQ(batch.param_count, 1U);
  EXPECT_EQ(batch.items, &sut.item(3, 0));
  EXPECT_EQ(batch.device_items, batch.items);
  EXPECT_EQ(batch.params[0].f64, 2.5);
  EXPECT_EQ(batch.max_input_bytes, 4096U);
  EXPECT_EQ(batch.workspace, nullptr);
  EXPECT_EQ(batch.workspace_bytes, 0U);
}

INSTANTIATE_TEST_SUITE_P(Jobs, BatchTableOf, ::testing::Values(1U, 2U, 3U, 256U));

TEST(BatchTable, SaysHowMuchTheDeviceDoesNotHave) {
  VirtualTimeDevice device{VirtualCosts{}};
  device.fail(VirtualTimeDevice::Call::allocate, 1, {DeviceOutcome::failed, 2});
  try {
    const BatchTable sut(device, 4);
    FAIL() << "made a table of nothing";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("no memory for a batch table of "), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace overlap
