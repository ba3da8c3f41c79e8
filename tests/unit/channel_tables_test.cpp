#include "producer/channel_tables.hpp"

#include "producer/producer_error.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

std::vector<std::byte> filled(std::size_t bytes, unsigned char value) {
  return std::vector<std::byte>(bytes, std::byte{value});
}

std::string refusal_of(std::vector<TableContent> tables, std::size_t pipelines = 2) {
  try {
    const ChannelTables sut(std::move(tables), pipelines);
  } catch (const InvalidSubmission& error) {
    return error.what();
  }
  return "";
}

TEST(ChannelTables, NeedNoRoomWhenThereAreNone) {
  const ChannelTables sut({}, 1);
  EXPECT_EQ(sut.count(), 0U);
  EXPECT_EQ(sut.region_bytes(), 0U);
  EXPECT_FALSE(sut.find(0, 0));
  sut.write_contents({});
}

TEST(ChannelTables, HaveTwoPlacesEachAtMultiplesOfTheSmallStride) {
  const ChannelTables sut({{0, 0, filled(1, 1)}, {0, 1, filled(256, 2)}, {1, 0, filled(257, 3)}},
                          2);
  EXPECT_EQ(sut.offset_bytes(0, 0), 0U);
  EXPECT_EQ(sut.offset_bytes(0, 1), 256U);
  EXPECT_EQ(sut.offset_bytes(1, 0), 512U);
  EXPECT_EQ(sut.offset_bytes(1, 1), 768U);
  EXPECT_EQ(sut.offset_bytes(2, 0), 1024U);
  EXPECT_EQ(sut.offset_bytes(2, 1), 1536U);
  EXPECT_EQ(sut.region_bytes(), 2048U);
}

TEST(ChannelTables, AreFoundByPipelineAndStage) {
  const ChannelTables sut({{0, 1, filled(4, 1)}, {1, 0, filled(8, 2)}}, 2);
  EXPECT_EQ(sut.find(0, 1), 0);
  EXPECT_EQ(sut.find(1, 0), 1);
  EXPECT_FALSE(sut.find(0, 0));
  EXPECT_FALSE(sut.find(1, 1));
  EXPECT_EQ(sut.bytes(1), 8U);
  EXPECT_EQ(sut.stage_index(0), 1U);
}

TEST(ChannelTables, AreNamedInTheRequestAndWrittenWhereItSays) {
  const ChannelTables sut({{0, 1, filled(300, 5)}, {1, 0, filled(8, 6)}}, 2);
  AttachRequest request{};
  sut.name_tables(request);
  ASSERT_EQ(request.table_count, 2U);
  std::vector<std::byte> region(sut.region_bytes());
  sut.write_contents(region);
  for (std::size_t i = 0; i < 2; ++i) {
    const TableEntry& entry = request.tables[i];
    EXPECT_EQ(entry.offset_bytes % kSmallStrideBytes, 0U);
    const auto content = std::span(region).subspan(entry.offset_bytes, entry.bytes);
    EXPECT_TRUE(std::ranges::equal(content, i == 0 ? filled(300, 5) : filled(8, 6)));
  }
  EXPECT_EQ(request.tables[0].stage_index, 1U);
  EXPECT_EQ(request.tables[1].pipeline_index, 1U);
  EXPECT_EQ(std::ranges::count(region, std::byte{0}), 2048 - 512 - 308);
}

TEST(ChannelTables, GiveOutTwoPlacesAndNoThird) {
  ChannelTables sut({{0, 0, filled(4, 1)}, {0, 1, filled(4, 1)}}, 1);
  EXPECT_EQ(sut.take_place(0), 0);
  EXPECT_EQ(sut.take_place(0), 1);
  EXPECT_FALSE(sut.take_place(0));
  EXPECT_EQ(sut.take_place(1), 0) << "another table has places of its own";
  sut.free_place(0, 1);
  EXPECT_EQ(sut.take_place(0), 1);
  sut.free_all_places();
  EXPECT_EQ(sut.take_place(0), 0);
  EXPECT_EQ(sut.take_place(1), 0);
}

TEST(ChannelTables, BeginTheNextChannelWithWhatWasSet) {
  ChannelTables sut({{0, 0, filled(4, 1)}}, 1);
  sut.set_content(0, filled(4, 9));
  std::vector<std::byte> region(sut.region_bytes());
  sut.write_contents(region);
  EXPECT_EQ(std::ranges::count(region, std::byte{9}), 4);
}

TEST(ChannelTables, RefuseWhatNoChannelCanHave) {
  EXPECT_TRUE(says(refusal_of({{2, 1, filled(1, 1)}}), {"pipeline 2, stage 1"}));
  EXPECT_TRUE(says(refusal_of({{0, 3, {}}}), {"pipeline 0, stage 3 has no bytes"}));
  EXPECT_TRUE(says(refusal_of({{1, 1, filled(1, 1)}, {1, 1, filled(2, 1)}}), {"given twice"}));
  std::vector<TableContent> many;
  for (std::size_t i = 0; i < kMaxTables; ++i) {
    many.push_back({0, static_cast<std::uint8_t>(i), filled(1, 1)});
  }
  EXPECT_EQ(refusal_of(many), "");
  many.push_back({1, 0, filled(1, 1)});
  EXPECT_TRUE(says(refusal_of(many), {"at most 32"}));
}

}  // namespace
}  // namespace overlap::testing
