#include "daemon/engine/slot_state.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <utility>

namespace overlap {
namespace {

constexpr std::array kStates = {SlotState::free, SlotState::queued, SlotState::issued,
                                SlotState::completed};

TEST(SlotState, TheTableIsThePicture) {
  // Every arrow of the picture, written a second time.
  const std::set<std::pair<SlotState, SlotState>> arrows = {
      {SlotState::free, SlotState::queued},    {SlotState::free, SlotState::completed},
      {SlotState::queued, SlotState::issued},  {SlotState::queued, SlotState::completed},
      {SlotState::issued, SlotState::queued},  {SlotState::issued, SlotState::completed},
      {SlotState::completed, SlotState::free},
  };
  for (const SlotState from : kStates) {
    for (const SlotState to : kStates) {
      EXPECT_EQ(may_step(from, to), arrows.contains({from, to}))
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

TEST(SlotState, NoSlotStaysWhereItIs) {
  for (const SlotState state : kStates) {
    EXPECT_FALSE(may_step(state, state)) << static_cast<int>(state);
  }
}

TEST(SlotState, OnlyACollectedCompletionFreesASlot) {
  const auto frees = [](SlotState from) { return may_step(from, SlotState::free); };
  EXPECT_EQ(std::count_if(kStates.begin(), kStates.end(), frees), 1);
  EXPECT_TRUE(frees(SlotState::completed));
}

}  // namespace
}  // namespace overlap
