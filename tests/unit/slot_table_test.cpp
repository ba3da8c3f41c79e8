#include "producer/slot_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace overlap {
namespace {

const int first_channel = 0;
const int second_channel = 0;
const int third_channel = 0;

TEST(SlotTable, GivesEverySlotOnce) {
  SlotTable sut(&first_channel, 2);
  const auto a = sut.acquire();
  const auto b = sut.acquire();
  ASSERT_TRUE(a && b);
  EXPECT_NE(*a, *b);
  EXPECT_FALSE(sut.acquire());
  sut.give_back({&first_channel, *a});
  EXPECT_EQ(sut.acquire(), a);
}

TEST(SlotTable, ASubmittedSlotIsNotFree) {
  SlotTable sut(&first_channel, 1);
  const SlotKey slot{&first_channel, *sut.acquire()};
  sut.submit(slot);
  EXPECT_EQ(sut.free_count(), 0U);
  sut.give_back(slot);
  EXPECT_EQ(sut.free_count(), 1U);
}

TEST(SlotTable, KeepsAPlaceForAnAcquiredSlotInTheNextChannel) {
  SlotTable before(&first_channel, 2);
  const SlotKey acquired{&first_channel, *before.acquire()};
  const SlotKey submitted{&first_channel, *before.acquire()};
  before.submit(submitted);
  SlotTable sut = before.successor(&second_channel);
  EXPECT_EQ(sut.free_count(), 1U);
  const std::uint32_t for_job = sut.take_for_job();
  EXPECT_NE(sut.place_of(acquired), for_job);
  EXPECT_THROW(static_cast<void>(sut.place_of(submitted)), std::logic_error);
}

TEST(SlotTable, CarriesAnAcquiredSlotOverSeveralChannels) {
  SlotTable before(&first_channel, 2);
  const SlotKey acquired{&first_channel, *before.acquire()};
  SlotTable sut = before.successor(&second_channel).successor(&third_channel);
  EXPECT_EQ(sut.free_count(), 1U);
  sut.give_back(acquired);
  EXPECT_EQ(sut.free_count(), 2U);
}

TEST(SlotTable, ASettledSlotIsOneOfTheCurrentChannel) {
  SlotTable before(&first_channel, 2);
  const SlotKey acquired{&first_channel, *before.acquire()};
  SlotTable sut = before.successor(&second_channel);
  const std::uint32_t place = sut.place_of(acquired);
  sut.settle(acquired);
  EXPECT_THROW(static_cast<void>(sut.place_of(acquired)), std::logic_error);
  sut.give_back({&second_channel, place});
  EXPECT_EQ(sut.free_count(), 2U);
}

TEST(SlotTable, AResultOfAnEarlierChannelHasNoPlaceInThisOne) {
  SlotTable before(&first_channel, 1);
  const SlotKey result{&first_channel, *before.acquire()};
  before.submit(result);
  SlotTable sut = before.successor(&second_channel);
  EXPECT_EQ(sut.free_count(), 1U);
  sut.give_back(result);
  EXPECT_EQ(sut.free_count(), 1U);
}

TEST(SlotTable, HasNoPlaceForMoreThanThereAre) {
  SlotTable sut(&first_channel, 1);
  static_cast<void>(sut.take_for_job());
  EXPECT_THROW(static_cast<void>(sut.take_for_job()), std::logic_error);
}

}  // namespace
}  // namespace overlap
