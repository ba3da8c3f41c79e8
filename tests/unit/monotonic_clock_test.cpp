#include "shared/monotonic_clock.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <ctime>
#include <thread>

namespace overlap {
namespace {

std::uint64_t now_of(clockid_t clock) {
  timespec now{};
  EXPECT_EQ(clock_gettime(clock, &now), 0);
  return static_cast<std::uint64_t>(now.tv_sec) * 1000000000U +
         static_cast<std::uint64_t>(now.tv_nsec);
}

TEST(MonotonicClock, LiesBetweenTwoReadingsOfTheKernelsClock) {
  const std::uint64_t before = now_of(CLOCK_MONOTONIC);
  const std::uint64_t sut = monotonic_now_ns();
  const std::uint64_t after = now_of(CLOCK_MONOTONIC);
  EXPECT_GE(sut, before);
  EXPECT_LE(sut, after);
}

TEST(MonotonicClock, NeverGoesBackAndDoesGoOn) {
  const std::uint64_t first = monotonic_now_ns();
  std::uint64_t last = first;
  for (int i = 0; i < 100000; ++i) {
    const std::uint64_t now = monotonic_now_ns();
    ASSERT_GE(now, last);
    last = now;
  }
  EXPECT_GT(last, first);
}

TEST(MonotonicClock, IsOneClockForEveryThread) {
  const std::uint64_t before = monotonic_now_ns();
  std::uint64_t there = 0;
  std::thread([&there] { there = monotonic_now_ns(); }).join();
  EXPECT_GE(there, before);
  EXPECT_LE(there, monotonic_now_ns());
}

}  // namespace
}  // namespace overlap
