#include "daemon/engine/plan_cache.hpp"

#include "tests/unit/scripted_kernels.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace overlap {
namespace {

Pipeline parse(const char* text) { return Pipeline::parse(text, testing::scripted_registry()); }

TEST(PlanCache, StartsEmpty) {
  const PlanCache sut;
  EXPECT_EQ(sut.size(), 0U);
}

TEST(PlanCache, PlansASizeOnce) {
  const Pipeline pipeline = parse("copy");
  PlanCache sut;
  PlanCache::Entry& first = sut.acquire(pipeline, 100);
  PlanCache::Entry& second = sut.acquire(pipeline, 100);
  EXPECT_EQ(&first, &second);
  EXPECT_EQ(first.users, 2U);
  EXPECT_EQ(first.input_bytes, 100U);
  EXPECT_EQ(first.plan.max_output_bytes, 100U);
  EXPECT_EQ(sut.size(), 1U);
}

TEST(PlanCache, FindsAPlanAgainAfterAnotherSize) {
  const Pipeline pipeline = parse("twice|copy");
  PlanCache sut;
  PlanCache::Entry& first = sut.acquire(pipeline, 100);
  PlanCache::Entry& other = sut.acquire(pipeline, 200);
  EXPECT_NE(&first, &other);
  EXPECT_EQ(&sut.acquire(pipeline, 100), &first);
  EXPECT_EQ(first.plan.max_output_bytes, 200U);
  EXPECT_EQ(other.plan.max_output_bytes, 400U);
  EXPECT_EQ(other.plan.stages.size(), 2U);
}

TEST(PlanCache, KeepsARefusalWithItsReason) {
  const Pipeline pipeline = parse("scale:type=f32");
  PlanCache sut;
  PlanCache::Entry& refused = sut.acquire(pipeline, 7);
  EXPECT_NE(refused.refusal.find("7 bytes do not fit scale"), std::string::npos) << refused.refusal;
  EXPECT_TRUE(sut.acquire(pipeline, 8).refusal.empty());
  EXPECT_EQ(&sut.acquire(pipeline, 7), &refused);
}

TEST(PlanCache, CountsAUserLessWhenAPlanIsReleased) {
  const Pipeline pipeline = parse("copy");
  PlanCache sut;
  PlanCache::Entry& entry = sut.acquire(pipeline, 1);
  PlanCache::release(entry);
  EXPECT_EQ(entry.users, 0U);
}

TEST(PlanCache, DoesNotGrowWithEverNewSizes) {
  const Pipeline pipeline = parse("copy");
  PlanCache sut;
  for (std::uint64_t bytes = 1; bytes <= 10'000; ++bytes) {
    PlanCache::Entry& entry = sut.acquire(pipeline, bytes);
    ASSERT_EQ(entry.plan.max_output_bytes, bytes);
    PlanCache::release(entry);
    ASSERT_LE(sut.size(), PlanCache::kKeptPlans);
  }
}

TEST(PlanCache, APlanInUseStaysWhereAndWhatItIs) {
  const Pipeline pipeline = parse("twice");
  PlanCache sut;
  std::vector<PlanCache::Entry*> in_use;
  for (std::uint64_t bytes = 1; bytes <= 1000; ++bytes) {
    in_use.push_back(&sut.acquire(pipeline, bytes));
  }
  for (std::uint64_t bytes = 10'001; bytes <= 20'000; ++bytes) {
    PlanCache::release(sut.acquire(pipeline, bytes));
  }
  for (std::uint64_t bytes = 1; bytes <= 1000; ++bytes) {
    ASSERT_EQ(&sut.acquire(pipeline, bytes), in_use[bytes - 1]);
    ASSERT_EQ(in_use[bytes - 1]->users, 2U);
    ASSERT_EQ(in_use[bytes - 1]->plan.max_output_bytes, 2 * bytes);
  }
  EXPECT_LE(sut.size(), 2 * in_use.size());
}

TEST(PlanCache, ShrinksOnceTheCrowdHasGone) {
  const Pipeline pipeline = parse("copy");
  PlanCache sut;
  std::vector<PlanCache::Entry*> in_use;
  for (std::uint64_t bytes = 1; bytes <= 1000; ++bytes) {
    in_use.push_back(&sut.acquire(pipeline, bytes));
  }
  for (PlanCache::Entry* entry : in_use) {
    PlanCache::release(*entry);
  }
  for (std::uint64_t bytes = 10'001; bytes <= 13'000; ++bytes) {
    PlanCache::release(sut.acquire(pipeline, bytes));
  }
  EXPECT_LE(sut.size(), PlanCache::kKeptPlans);
}

TEST(PlanCache, TheLastPlanIsForgottenWithItsEntry) {
  const Pipeline pipeline = parse("copy");
  PlanCache sut;
  // Each asks for the size before last, which may just have been dropped.
  for (std::uint64_t bytes = 2; bytes <= 1000; ++bytes) {
    PlanCache::release(sut.acquire(pipeline, bytes));
    PlanCache::Entry& before = sut.acquire(pipeline, bytes - 1);
    ASSERT_EQ(before.plan.max_output_bytes, bytes - 1);
    PlanCache::release(before);
  }
}

}  // namespace
}  // namespace overlap
