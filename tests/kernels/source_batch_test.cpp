#include "kernels/source/source_batch.hpp"

#include <gtest/gtest.h>

#include <array>
#include <vector>

namespace overlap::test {
namespace {

constexpr std::uint64_t kResident = 132 * 2048;

struct RoomyItem {
  overlap_batch_item item;
  std::uint64_t later_field;
};

/// Items that differ in every field, wider apart than their size.
std::vector<RoomyItem> some_items(std::uint32_t count) {
  std::vector<RoomyItem> items(count);
  for (std::uint32_t index = 0; index < count; ++index) {
    auto* const base = reinterpret_cast<std::byte*>(std::uintptr_t{index + 1} << 20U);
    items[index].item = {base,    100 + index, base + 256,  200 + index, nullptr,
                         nullptr, base + 512,  300 + index, nullptr,     nullptr};
  }
  return items;
}

overlap_batch batch_of(const std::vector<RoomyItem>& items) {
  overlap_batch batch{};
  batch.item_stride_bytes = sizeof(RoomyItem);
  batch.item_count = static_cast<std::uint32_t>(items.size());
  batch.items = &items.front().item;
  batch.device_items = &items.front().item;
  batch.max_input_bytes = 1000;
  return batch;
}

TEST(SourceBatch, CarriesFewItemsItself) {
  for (const std::uint32_t count : {1U, 2U, kSourceInlineItems}) {
    const auto items = some_items(count);
    const SourceBatch sut = source_batch(batch_of(items));
    EXPECT_EQ(sut.items, nullptr);
    EXPECT_EQ(sut.count, count);
    EXPECT_EQ(sut.max_input_bytes, 1000U);
    for (std::uint32_t index = 0; index < count; ++index) {
      const overlap_batch_item& item = items[index].item;
      EXPECT_EQ(sut.inline_items[index].input, item.input);
      EXPECT_EQ(sut.inline_items[index].input_bytes, item.input_bytes);
      EXPECT_EQ(sut.inline_items[index].output, item.output);
      EXPECT_EQ(sut.inline_items[index].output_bytes, item.output_capacity_bytes);
      EXPECT_EQ(sut.inline_items[index].table, item.table);
      EXPECT_EQ(sut.inline_items[index].table_bytes, item.table_bytes);
    }
  }
}

TEST(SourceBatch, PointsAtManyItems) {
  const auto items = some_items(kSourceInlineItems + 1);
  const overlap_batch batch = batch_of(items);
  EXPECT_TRUE(reads_items_itself(batch));
  const SourceBatch sut = source_batch(batch);
  EXPECT_EQ(static_cast<const void*>(sut.items), batch.device_items);
  EXPECT_EQ(sut.stride_bytes, sizeof(RoomyItem));
  EXPECT_EQ(sut.count, kSourceInlineItems + 1);
}

TEST(SourceBatch, PointsAtItemsWhoseSizesAreOnlyKnownOnTheDevice) {
  const auto items = some_items(1);
  overlap_batch batch = batch_of(items);
  EXPECT_FALSE(reads_items_itself(batch));
  batch.flags = OVERLAP_BATCH_SIZES_ON_DEVICE;
  EXPECT_TRUE(reads_items_itself(batch));
  EXPECT_EQ(static_cast<const void*>(source_batch(batch).items), batch.device_items);
}

TEST(SourceGrid, IsOneBlockAJobUnlessTheKernelSaysHowMuchABlockDoes) {
  const SourceGrid sut = source_grid({256, 0}, 1'000'000, 3, kResident);
  EXPECT_EQ(sut.blocks_per_item, 1U);
  EXPECT_EQ(sut.item_rows, 3U);
}

TEST(SourceGrid, HasNoMoreBlocksThanWork) {
  EXPECT_EQ(source_grid({256, 4096}, 1, 1, kResident).blocks_per_item, 1U);
  EXPECT_EQ(source_grid({256, 4096}, 4096, 1, kResident).blocks_per_item, 1U);
  EXPECT_EQ(source_grid({256, 4096}, 4097, 1, kResident).blocks_per_item, 2U);
  EXPECT_EQ(source_grid({256, 4096}, 40'960, 1, kResident).blocks_per_item, 10U);
}

TEST(SourceGrid, FillsTheGpuOnceOverAllJobs) {
  const std::uint64_t large = std::uint64_t{1} << 30U;
  EXPECT_EQ(source_grid({256, 4096}, large, 1, kResident).blocks_per_item, 132U * 8);
  EXPECT_EQ(source_grid({1024, 4096}, large, 1, kResident).blocks_per_item, 132U * 2);
  EXPECT_EQ(source_grid({256, 4096}, large, 4, kResident).blocks_per_item, 132U * 2);
  EXPECT_EQ(source_grid({256, 4096}, large, 100'000, kResident).blocks_per_item, 1U);
}

TEST(SourceGrid, HasRowsForEveryJobUpToTheLimitOfAGrid) {
  EXPECT_EQ(source_grid({256, 4096}, 1, 65'535, kResident).item_rows, 65'535U);
  EXPECT_EQ(source_grid({256, 4096}, 1, 65'536, kResident).item_rows, 65'535U);
}

TEST(SourceGrid, IsNeverEmpty) {
  const SourceGrid sut = source_grid({1024, 1}, UINT64_MAX, 1, 32);
  EXPECT_EQ(sut.blocks_per_item, 1U);
  EXPECT_EQ(sut.item_rows, 1U);
}

}  // namespace
}  // namespace overlap::test
