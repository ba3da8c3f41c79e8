#include "daemon/engine/cost_model.hpp"

#include <gtest/gtest.h>

#include <cstdint>

namespace overlap {
namespace {

constexpr std::uint64_t kMiB = 1U << 20U;

TEST(CostModel, TakesWhatATypicalLinkTakesUntilItHasSeenSomething) {
  const CostModel sut;
  // 40 GB/s, and never nothing.
  EXPECT_EQ(sut.estimate_ns(0), 1U);
  EXPECT_EQ(sut.estimate_ns(1), 1U);
  EXPECT_EQ(sut.estimate_ns(4000), 101U);
  EXPECT_EQ(sut.estimate_ns(40'000'000), 1'000'001U);
}

TEST(CostModel, BelievesItsFirstMeasurement) {
  CostModel sut;
  sut.learn(4096, 4096, 200e6);
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(4096)), 200e6, 2);
}

TEST(CostModel, SharesAMeasurementOutByBytes) {
  CostModel sut;
  // A hundred jobs of 5000 bytes took 1 ms together.
  sut.learn(5000, 500'000, 1e6);
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(5000)), 10'000, 2);
  // Of the same class, half as much again.
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(7500)), 15'000, 2);
}

TEST(CostModel, KnowsSizesApart) {
  CostModel sut;
  const CostModel ignorant;
  sut.learn(4096, 4096, 50e6);
  EXPECT_EQ(sut.estimate_ns(4095), ignorant.estimate_ns(4095)) << "the class below";
  EXPECT_EQ(sut.estimate_ns(8192), ignorant.estimate_ns(8192)) << "the class above";
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(8191)), 50e6 * 8191 / 4096, 2);
}

TEST(CostModel, IsARunningMeanThatNoSingleMeasurementTurnsOver) {
  CostModel sut;
  sut.learn(kMiB, kMiB, 100'000);
  sut.learn(kMiB, kMiB, 900'000);
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(kMiB)), 200'000, 2);
}

TEST(CostModel, FollowsAChangeThatLasts) {
  CostModel sut;
  sut.learn(kMiB, kMiB, 100'000);
  for (int i = 0; i < 60; ++i) {
    sut.learn(kMiB, kMiB, 900'000);
  }
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(kMiB)), 900'000, 900);
}

TEST(CostModel, ReachesFromNothingToTheLargestSize) {
  CostModel sut;
  sut.learn(0, 1, 5);
  sut.learn(UINT64_MAX, UINT64_MAX, 1e9);
  EXPECT_EQ(sut.estimate_ns(0), 1U);
  EXPECT_NEAR(static_cast<double>(sut.estimate_ns(UINT64_MAX)), 1e9, 2);
}

}  // namespace
}  // namespace overlap
