#include "daemon/device/copy_range.hpp"

#include "daemon/device/host_device.hpp"
#include "daemon/device/virtual_time_device.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;

std::vector<std::byte> numbers(std::size_t count) {
  std::vector<std::byte> made(count);
  for (std::size_t i = 0; i < count; ++i) {
    made[i] = static_cast<std::byte>(i + 1);
  }
  return made;
}

/// Three rows of five bytes, out of every ninth byte into every seventh.
struct Rows {
  std::vector<std::byte> source = numbers(2 * 9 + 5);
  std::vector<std::byte> target = std::vector<std::byte>(2 * 7 + 5 + 1);
  CopyRange range{target.data(), source.data(), 5, 3, 7, 9};

  void expect_there() const {
    std::vector<std::byte> expected(target.size());
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t i = 0; i < 5; ++i) {
        expected[row * 7 + i] = source[row * 9 + i];
      }
    }
    EXPECT_EQ(target, expected);
  }
};

TEST(CopyRange, CarriesItsRowsAndNothingBetweenThem) {
  Rows rows;
  copy_now(rows.range);
  rows.expect_there();
}

TEST(CopyRange, OfOneRowAsksForNoPitch) {
  const std::vector<std::byte> source = numbers(4);
  std::vector<std::byte> target(5);
  copy_now({target.data(), source.data(), 4});
  EXPECT_EQ(target, (std::vector<std::byte>{source[0], source[1], source[2], source[3], {}}));
}

TEST(CopyRange, IsCarriedByEveryDeviceWithoutAGpu) {
  for (const std::uint32_t threads : {0U, 2U}) {
    HostDevice device(threads);
    const StreamId stream = device.create_stream(StreamPriority::normal);
    const EventId over = device.create_event();
    Rows rows;
    ASSERT_TRUE(device.copy_in(stream, {&rows.range, 1}).ok());
    ASSERT_TRUE(device.record(over, stream).ok());
    while (device.query(over).state == EventState::pending) {
    }
    rows.expect_there();
  }
  VirtualTimeDevice device({.copy_out = 10ns});
  const StreamId stream = device.create_stream(StreamPriority::normal);
  Rows rows;
  ASSERT_TRUE(device.copy_out(stream, {&rows.range, 1}).ok());
  const EventId over = device.create_event();
  ASSERT_TRUE(device.record(over, stream).ok());
  while (device.query(over).state == EventState::pending) {
    ASSERT_TRUE(device.advance_to_next());
  }
  rows.expect_there();
  EXPECT_EQ(device.now_ns(), 30U) << "as long as a copy a row";
}

}  // namespace
}  // namespace overlap
