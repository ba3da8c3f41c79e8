#include "tests/bench/latency_record.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <stdexcept>

namespace overlap::bench {
namespace {

LatencyRecord up_to(std::uint64_t count) {
  LatencyRecord record;
  for (std::uint64_t value = 1; value <= count; ++value) {
    record.add(value * 1000);
  }
  return record;
}

void expect_near(const std::optional<double>& quantile_us, double wanted_us) {
  ASSERT_TRUE(quantile_us.has_value());
  EXPECT_GE(*quantile_us, wanted_us);
  EXPECT_LE(*quantile_us, wanted_us * (1 + 1.0 / 64));
}

TEST(LatencyRecord, OfNothingHasNoQuantile) {
  const LatencyRecord sut;
  EXPECT_FALSE(sut.quantile_us(0.5).has_value());
  EXPECT_EQ(sut.count(), 0U);
  EXPECT_EQ(sut.worst_ns(), 0U);
}

TEST(LatencyRecord, FindsQuantilesWithinItsPrecision) {
  const LatencyRecord sut = up_to(10'000);
  expect_near(sut.quantile_us(0.5), 5000);
  expect_near(sut.quantile_us(0.99), 9900);
  expect_near(sut.quantile_us(0.999), 9990);
}

TEST(LatencyRecord, GivesAQuantileOnlyWithEnoughSamplesBeyondIt) {
  EXPECT_FALSE(up_to(19).quantile_us(0.5).has_value());
  EXPECT_TRUE(up_to(20).quantile_us(0.5).has_value());
  EXPECT_FALSE(up_to(999).quantile_us(0.99).has_value());
  EXPECT_TRUE(up_to(1000).quantile_us(0.99).has_value());
  EXPECT_FALSE(up_to(9'999).quantile_us(0.999).has_value());
  EXPECT_TRUE(up_to(10'000).quantile_us(0.999).has_value());
}

TEST(LatencyRecord, KeepsTheWorstExactly) {
  LatencyRecord sut = up_to(100);
  sut.add(123'456'789);
  EXPECT_EQ(sut.worst_ns(), 123'456'789U);
  EXPECT_EQ(sut.count(), 101U);
}

TEST(LatencyRecord, NeverGivesAQuantileBeyondTheWorst) {
  LatencyRecord sut;
  for (int i = 0; i < 100; ++i) {
    sut.add(1'000'003);
  }
  EXPECT_EQ(sut.quantile_us(0.5), 1000.003);
}

TEST(LatencyRecord, KeepsTheSmallestAndTheLargestNumber) {
  LatencyRecord sut;
  sut.add(0);
  sut.add(UINT64_MAX);
  EXPECT_EQ(sut.count(), 2U);
  EXPECT_EQ(sut.worst_ns(), UINT64_MAX);
}

TEST(LatencyRecord, AddsAnotherOne) {
  LatencyRecord sut = up_to(100);
  LatencyRecord other;
  for (int i = 0; i < 300; ++i) {
    other.add(1'000'000);
  }
  sut.add(other);
  EXPECT_EQ(sut.count(), 400U);
  EXPECT_EQ(sut.worst_ns(), 1'000'000U);
  expect_near(sut.quantile_us(0.9), 1000);
}

TEST(LatencyRecord, IsEmptyAgainWhenCleared) {
  LatencyRecord sut = up_to(100);
  sut.clear();
  EXPECT_EQ(sut.count(), 0U);
  EXPECT_EQ(sut.worst_ns(), 0U);
  EXPECT_EQ(sut.to_text(), LatencyRecord().to_text());
}

TEST(LatencyRecord, SurvivesItsTextForm) {
  const LatencyRecord before = up_to(10'000);
  const LatencyRecord sut = LatencyRecord::from_text(before.to_text());
  EXPECT_EQ(sut.count(), before.count());
  EXPECT_EQ(sut.worst_ns(), before.worst_ns());
  EXPECT_EQ(sut.quantile_us(0.99), before.quantile_us(0.99));
  EXPECT_EQ(sut.to_text(), before.to_text());
}

TEST(LatencyRecord, RefusesATextThatIsNone) {
  for (const char* text : {"", "x", "5,", "5,1", "5,1:", "5,1:x", "5;1:2", "5,999999:1"}) {
    EXPECT_THROW(static_cast<void>(LatencyRecord::from_text(text)), std::runtime_error) << text;
  }
}

}  // namespace
}  // namespace overlap::bench
