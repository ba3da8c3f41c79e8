#include "daemon/control/session.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <set>
#include <utility>
#include <vector>

namespace overlap {
namespace {

using enum SessionState;

constexpr SessionState kAll[] = {connected, waiting_for_room, allocating, offered,   preparing,
                                 open,      doomed,           leaving,    returning, gone};
static_assert(std::size(kAll) == kSessionStateCount);

/// The arrows of the picture, written down a second time.
const std::set<std::pair<SessionState, SessionState>>& picture() {
  static const std::set<std::pair<SessionState, SessionState>> arrows{
      {connected, waiting_for_room},
      {connected, allocating},
      {connected, gone},
      {waiting_for_room, allocating},
      {waiting_for_room, gone},
      {allocating, offered},
      {allocating, doomed},
      {allocating, returning},
      {allocating, gone},
      {offered, preparing},
      {offered, returning},
      {preparing, open},
      {preparing, doomed},
      {preparing, gone},
      {open, leaving},
      {doomed, returning},
      {doomed, gone},
      {leaving, returning},
      {returning, gone},
  };
  return arrows;
}

std::set<SessionState> reachable_from(SessionState start) {
  std::set<SessionState> seen{start};
  std::vector<SessionState> frontier{start};
  while (!frontier.empty()) {
    const SessionState from = frontier.back();
    frontier.pop_back();
    for (const SessionState to : kAll) {
      if (may_step(from, to) && seen.insert(to).second) {
        frontier.push_back(to);
      }
    }
  }
  return seen;
}

TEST(Session, MayMakeExactlyTheStepsOfThePicture) {
  for (const SessionState from : kAll) {
    for (const SessionState to : kAll) {
      EXPECT_EQ(may_step(from, to), picture().contains({from, to}))
          << static_cast<int>(from) << " to " << static_cast<int>(to);
    }
  }
}

TEST(Session, NeverStepsOutOfGone) {
  EXPECT_EQ(kSessionSteps[static_cast<std::size_t>(gone)], 0U);
  EXPECT_EQ(reachable_from(gone), std::set<SessionState>{gone});
}

TEST(Session, CanEndFromEveryState) {
  for (const SessionState from : kAll) {
    EXPECT_TRUE(reachable_from(from).contains(gone)) << static_cast<int>(from);
  }
}

TEST(Session, NeverStaysOrGoesBack) {
  for (const SessionState from : kAll) {
    for (const SessionState to : kAll) {
      if (may_step(from, to)) {
        EXPECT_FALSE(reachable_from(to).contains(from))
            << static_cast<int>(from) << " to " << static_cast<int>(to);
      }
    }
  }
}

TEST(Session, WithMemoryEndsOnlyByGivingItBack) {
  // They have memory in the session or in the channel; no arrow skips `returning`.
  for (const SessionState holder : {offered, open, leaving}) {
    EXPECT_FALSE(may_step(holder, gone)) << static_cast<int>(holder);
  }
  EXPECT_TRUE(may_step(returning, gone));
}

TEST(Session, BeginsConnectedWithNothing) {
  const Session sut;
  EXPECT_EQ(sut.state, connected);
  EXPECT_EQ(sut.granted_bytes, 0U);
  EXPECT_EQ(sut.deadline_ns, 0U);
  EXPECT_FALSE(sut.socket || sut.doorbell || sut.wake || sut.memory);
  EXPECT_FALSE(sut.plan || sut.store);
}

}  // namespace
}  // namespace overlap
