#include "daemon/engine/batch_table.hpp"

#include "daemon/device/virtual_time_device.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

namespace overlap {
namespace {

constexpr std::size_t kRows = BatchTable::kMaxRows;

class BatchTableOf : public ::testing::TestWithParam<std::uint32_t> {
 protected:
  const std::uint32_t jobs = GetParam();
  VirtualTimeDevice device{VirtualCosts{}};
  BatchTable sut{device, static_cast<std::uint32_t>(kRows) * jobs};
};

/// Every cell of the table written with a value of its own; then every one read back.
TEST_P(BatchTableOf, CellsLieApart) {
  std::vector<std::byte> places(kRows * jobs);
  sut.begin(kRows, jobs);
  for (std::size_t row = 0; row < kRows; ++row) {
    std::array<overlap_param_value, kMaxStageParameters> params{};
    for (std::size_t i = 0; i < params.size(); ++i) {
      params[i].choice_index = row * 100 + i;
    }
    sut.set_params(row, params);
    for (std::uint32_t job = 0; job < jobs; ++job) {
      std::byte* const place = &places[row * jobs + job];
      sut.set_item(row, job, place, row * 1'000'000 + job, place, row * 10'000 + job);
      sut.expect_output(row, job, row * 10'000 + job);
    }
  }
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::uint32_t job = 0; job < jobs; ++job) {
      const overlap_batch_item& item = sut.item(row, job);
      ASSERT_EQ(item.input, &places[row * jobs + job]);
      ASSERT_EQ(item.output, &places[row * jobs + job]);
      ASSERT_EQ(item.input_bytes, row * 1'000'000 + job);
      ASSERT_EQ(item.output_capacity_bytes, row * 10'000 + job);
      ASSERT_EQ(*item.output_bytes, row * 10'000 + job);
      ASSERT_EQ(sut.output_bytes(row, job), row * 10'000 + job);
      ASSERT_EQ(*item.status, static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
      for (std::size_t i = 0; i < kMaxStageParameters; ++i) {
        ASSERT_EQ(item.params[i].choice_index, row * 100 + i);
      }
    }
  }
}

/// Tables of one row keep their items' parameters from one batch to the next; others move in between.
TEST_P(BatchTableOf, EveryItemHasItsRowsParametersWhateverTheTableWasBefore) {
  const std::size_t layouts[][2] = {{1, jobs}, {2, 1}, {1, jobs}, {kRows, jobs}, {1, jobs},
                                    {3, jobs}, {1, 1}, {2, jobs}, {1, jobs}};
  for (const auto& [rows, count] : layouts) {
    SCOPED_TRACE(::testing::Message() << rows << " x " << count);
    sut.begin(rows, static_cast<std::uint32_t>(count));
    for (std::size_t row = 0; row < rows; ++row) {
      const overlap_param_value value{.choice_index = 100 + row};
      sut.set_params(row, {&value, 1});
    }
    for (std::size_t row = 0; row < rows; ++row) {
      for (std::uint32_t job = 0; job < count; ++job) {
        ASSERT_EQ(sut.item(row, job).params[0].choice_index, 100 + row) << row << ", " << job;
      }
    }
  }
}

TEST_P(BatchTableOf, ItemsAreStatelessAndWithoutTable) {
  sut.begin(1, 1);
  sut.set_item(0, 0, nullptr, 1, nullptr, 1);
  EXPECT_EQ(sut.item(0, 0).state, nullptr);
  EXPECT_EQ(sut.item(0, 0).table, nullptr);
  EXPECT_EQ(sut.item(0, 0).table_bytes, 0U);
}

/// Two lines of the bus instead of one would double what small jobs cost.
TEST_P(BatchTableOf, WhatKernelsReadOfAnItemFirstIsOneSector) {
  sut.begin(kRows, jobs);
  for (std::size_t row = 0; row < kRows; ++row) {
    for (std::uint32_t job = 0; job < jobs; ++job) {
      ASSERT_EQ(reinterpret_cast<std::uintptr_t>(&sut.item(row, job)) % 32, 0U);
    }
  }
}

TEST_P(BatchTableOf, EveryRowHasAStatusOfItsOwn) {
  const std::uint32_t job = jobs - 1;
  sut.begin(3, jobs);
  EXPECT_TRUE(sut.all_ok());
  *sut.item(2, job).status = OVERLAP_ITEM_FAILED;
  EXPECT_EQ(sut.status(2, job), static_cast<std::uint32_t>(OVERLAP_ITEM_FAILED));
  EXPECT_EQ(sut.status(1, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
  EXPECT_FALSE(sut.all_ok());
  *sut.item(1, job).status = OVERLAP_ITEM_OUTPUT_TOO_SMALL;
  EXPECT_EQ(sut.status(1, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OUTPUT_TOO_SMALL));
  EXPECT_EQ(sut.status(0, job), static_cast<std::uint32_t>(OVERLAP_ITEM_OK));
}

TEST_P(BatchTableOf, ANewBatchForgetsWhatTheLastOneReported) {
  sut.begin(2, jobs);
  for (std::uint32_t job = 0; job < jobs; ++job) {
    *sut.item(0, job).status = OVERLAP_ITEM_FAILED;
    *sut.item(1, job).status = OVERLAP_ITEM_FAILED;
  }
  sut.begin(2, jobs);
  EXPECT_TRUE(sut.all_ok());
}

TEST_P(BatchTableOf, ABatchIsWhatAKernelTakes) {
  const overlap_param_value value{.f64 = 2.5};
  sut.begin(4, 1);
  sut.set_params(3, {&value, 1});
  sut.set_item(3, 0, nullptr, 4096, nullptr, 77);
  const overlap_batch batch = sut.batch(3, 1, 4096, 0);
  EXPECT_EQ(batch.struct_bytes, sizeof(overlap_batch));
  EXPECT_GE(batch.item_stride_bytes, sizeof(overlap_batch_item));
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
