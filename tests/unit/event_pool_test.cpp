#include "daemon/engine/event_pool.hpp"
#include "daemon/device/virtual_time_device.hpp"

#include <gtest/gtest.h>

namespace overlap {
namespace {

TEST(EventPool, LendsTheSameEventAgainOnceItIsBack) {
  VirtualTimeDevice device({});
  const auto sut = std::make_shared<EventPool>(device);
  EventPool::Lease first = sut->lease();
  const EventPool::Lease second = sut->lease();
  EXPECT_NE(first.id(), second.id());
  const EventId returned = first.id();
  first = {};
  EXPECT_FALSE(first);
  const EventPool::Lease third = sut->lease();
  EXPECT_EQ(third.id(), returned);
}

TEST(EventPool, LivesAsLongAsItsLeases) {
  VirtualTimeDevice device({});
  auto sut = std::make_shared<EventPool>(device);
  EventPool::Lease lease = sut->lease();
  sut.reset();
  EventPool::Lease moved = std::move(lease);
  EXPECT_TRUE(moved);
}

}  // namespace
}  // namespace overlap
