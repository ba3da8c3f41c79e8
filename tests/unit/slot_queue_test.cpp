#include "daemon/engine/slot_queue.hpp"

#include <gtest/gtest.h>

#include <deque>
#include <random>
#include <vector>

namespace overlap {
namespace {

std::vector<std::uint32_t> slots_of(const SlotQueue& queue) {
  std::vector<std::uint32_t> slots;
  queue.for_each([&](std::uint32_t slot) { slots.push_back(slot); });
  return slots;
}

TEST(SlotQueue, StartsEmpty) {
  const SlotQueue sut(4);
  EXPECT_TRUE(sut.empty());
  EXPECT_EQ(sut.size(), 0U);
  EXPECT_TRUE(slots_of(sut).empty());
}

TEST(SlotQueue, HoldsOneSlot) {
  SlotQueue sut(1);
  sut.push_back(7);
  EXPECT_FALSE(sut.empty());
  EXPECT_EQ(sut.size(), 1U);
  EXPECT_EQ(sut.front(), 7U);
  sut.pop_front();
  EXPECT_TRUE(sut.empty());
}

TEST(SlotQueue, GivesSlotsInTheOrderInWhichTheyCame) {
  SlotQueue sut(3);
  for (const std::uint32_t slot : {2U, 0U, 1U}) {
    sut.push_back(slot);
  }
  EXPECT_EQ(slots_of(sut), (std::vector<std::uint32_t>{2, 0, 1}));
  for (const std::uint32_t slot : {2U, 0U, 1U}) {
    EXPECT_EQ(sut.front(), slot);
    sut.pop_front();
  }
  EXPECT_TRUE(sut.empty());
}

TEST(SlotQueue, HoldsAsManyAsItsCapacityWhateverItsSize) {
  for (const std::uint32_t capacity : {1U, 2U, 3U, 5U, 8U, 1000U}) {
    SlotQueue sut(capacity);
    for (std::uint32_t slot = 0; slot < capacity; ++slot) {
      sut.push_back(slot);
    }
    EXPECT_EQ(sut.size(), capacity);
    for (std::uint32_t slot = 0; slot < capacity; ++slot) {
      ASSERT_EQ(sut.front(), slot) << "capacity " << capacity;
      sut.pop_front();
    }
  }
}

TEST(SlotQueue, PutsASlotBackInFront) {
  SlotQueue sut(4);
  sut.push_back(1);
  sut.push_back(2);
  sut.pop_front();
  sut.push_front(1);
  EXPECT_EQ(slots_of(sut), (std::vector<std::uint32_t>{1, 2}));
}

TEST(SlotQueue, CanBeFilledFromTheFrontAlone) {
  SlotQueue sut(3);
  for (const std::uint32_t slot : {0U, 1U, 2U}) {
    sut.push_front(slot);
  }
  EXPECT_EQ(sut.size(), 3U);
  EXPECT_EQ(slots_of(sut), (std::vector<std::uint32_t>{2, 1, 0}));
}

TEST(SlotQueue, IsUsableAfterItWasCleared) {
  SlotQueue sut(2);
  sut.push_back(0);
  sut.push_back(1);
  sut.clear();
  EXPECT_TRUE(sut.empty());
  EXPECT_TRUE(slots_of(sut).empty());
  sut.push_back(1);
  sut.push_front(0);
  EXPECT_EQ(slots_of(sut), (std::vector<std::uint32_t>{0, 1}));
}

TEST(SlotQueue, EqualsAPlainQueueWhateverIsDone) {
  constexpr std::uint32_t kCapacity = 5;
  std::mt19937 random(1);
  SlotQueue sut(kCapacity);
  std::deque<std::uint32_t> expected;
  for (std::uint32_t step = 0; step < 20'000; ++step) {
    const std::uint32_t what = random() % 64;
    if (what == 0) {
      sut.clear();
      expected.clear();
    } else if (what % 2 == 0 && !expected.empty()) {
      sut.pop_front();
      expected.pop_front();
    } else if (expected.size() < kCapacity) {
      if (what % 3 == 0) {
        sut.push_front(step);
        expected.push_front(step);
      } else {
        sut.push_back(step);
        expected.push_back(step);
      }
    }
    ASSERT_EQ(sut.size(), expected.size()) << "step " << step;
    ASSERT_EQ(sut.empty(), expected.empty());
    ASSERT_EQ(slots_of(sut), std::vector<std::uint32_t>(expected.begin(), expected.end()));
    ASSERT_TRUE(expected.empty() || sut.front() == expected.front());
  }
}

}  // namespace
}  // namespace overlap
