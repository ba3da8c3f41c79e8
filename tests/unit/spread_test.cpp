#include "tests/bench/spread.hpp"

#include <gtest/gtest.h>

namespace overlap::bench {
namespace {

TEST(Spread, OfOneValueIsThatValue) {
  const Spread sut = Spread::of({3});
  EXPECT_EQ(sut.median, 3);
  EXPECT_EQ(sut.least, 3);
  EXPECT_EQ(sut.most, 3);
}

TEST(Spread, OfAnOddCountHasTheMiddleOne) {
  const Spread sut = Spread::of({9, 1, 4});
  EXPECT_EQ(sut.median, 4);
  EXPECT_EQ(sut.least, 1);
  EXPECT_EQ(sut.most, 9);
}

TEST(Spread, OfAnEvenCountLiesBetweenTheMiddleTwo) {
  EXPECT_EQ(Spread::of({8, 2, 6, 4}).median, 5);
}

}  // namespace
}  // namespace overlap::bench
