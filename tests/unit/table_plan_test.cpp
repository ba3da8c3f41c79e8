#include "daemon/control/table_plan.hpp"
#include "tests/unit/keeping_kernels.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

namespace overlap {
namespace {

using testing::keeping_registry;
using testing::kTableBytes;
using testing::says;

std::vector<Pipeline> pipelines() {
  return {Pipeline::parse("copy", keeping_registry()),
          Pipeline::parse("copy|plus_table", keeping_registry())};
}

TableEntry entry(std::uint8_t pipeline, std::uint8_t stage, std::uint64_t offset_bytes = 0,
                 std::uint64_t bytes = kTableBytes) {
  return {offset_bytes, bytes, pipeline, stage, 0, 0};
}

/// The refusal's text; empty if the tables are fine.
std::string refusal_of(const std::vector<TableEntry>& tables, std::uint64_t region_bytes = 1024) {
  AttachRequest request{};
  request.table_bytes = region_bytes;
  request.table_count = static_cast<std::uint32_t>(tables.size());
  std::copy(tables.begin(), tables.end(), request.tables);
  const auto sut = plan_tables(request, pipelines());
  const auto* text = std::get_if<std::string>(&sut);
  return text == nullptr ? std::string() : *text;
}

TEST(TablePlan, TakesOneForEachStageThatReadsOne) {
  EXPECT_EQ(refusal_of({entry(1, 1)}), "");
  EXPECT_EQ(refusal_of({entry(1, 1, 768)}), "");
}

TEST(TablePlan, AsksForWhatIsMissing) {
  EXPECT_TRUE(says(refusal_of({}), {"stage 2", "plus_table", "needs a table of 256"}));
}

TEST(TablePlan, RefusesWhatFitsNoStage) {
  EXPECT_TRUE(says(refusal_of({entry(2, 0)}), {"pipeline 2", "has 2"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 2)}), {"stage 3", "has 2"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 0)}), {"stage 1", "takes no table"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 1, 0, 255)}), {"takes a table of 256", "255"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 1), entry(1, 1, 256)}), {"two tables"}));
}

TEST(TablePlan, RefusesWhatLiesOutsideItsRegion) {
  EXPECT_TRUE(says(refusal_of({entry(1, 1, 1024)}), {"offset 1024", "within"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 1, 128)}), {"multiple of 256"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 1, UINT64_MAX - 255)}), {"within"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 1)}, 0), {"within"}));
  EXPECT_TRUE(says(refusal_of({entry(1, 1)}, 255), {"within"}));
}

TEST(TablePlan, RefusesMoreThanTheMessageHolds) {
  AttachRequest request{};
  request.table_count = kMaxTables + 1;
  const auto sut = plan_tables(request, pipelines());
  ASSERT_TRUE(std::holds_alternative<std::string>(sut));
}

}  // namespace
}  // namespace overlap
