#include "producer/send/latency_histogram.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <memory>

namespace overlap {
namespace {

TEST(LatencyHistogram, OfNothingIsZero) {
  const LatencyHistogram sut;
  EXPECT_EQ(sut.quantile_ns(0.5), 0U);
  EXPECT_EQ(sut.count(), 0U);
}

TEST(LatencyHistogram, KeepsOneValueWithinItsPrecision) {
  for (std::uint64_t value = 1; value != 0; value <<= 1U) {
    for (const std::uint64_t near : {value - 1, value, value + value / 3}) {
      LatencyHistogram sut;
      sut.add(near);
      const std::uint64_t kept = sut.quantile_ns(1.0);
      EXPECT_GE(kept, near);
      EXPECT_LE(kept - near, near / 64) << near;
    }
  }
  LatencyHistogram sut;
  sut.add(UINT64_MAX);
  EXPECT_EQ(sut.quantile_ns(0.5), UINT64_MAX);
}

TEST(LatencyHistogram, FindsMedianAndTail) {
  LatencyHistogram sut;
  for (std::uint64_t value = 1; value <= 100; ++value) {
    sut.add(value);
  }
  EXPECT_EQ(sut.quantile_ns(0.50), 50U);
  EXPECT_EQ(sut.quantile_ns(0.99), 99U);
  EXPECT_EQ(sut.quantile_ns(1.0), 100U);
}

}  // namespace
}  // namespace overlap
