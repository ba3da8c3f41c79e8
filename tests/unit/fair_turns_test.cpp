#include "daemon/engine/fair_turns.hpp"

#include "tests/unit/channel_harness.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <vector>

namespace overlap {
namespace {

using testing::ChannelHarness;

constexpr std::int64_t kQuantum = FairTurns::kQuantumNs;
constexpr std::int64_t kMs = 1'000'000;

/// A channel that takes its turns, with or without a job that waits.
class Participant {
 public:
  explicit Participant(std::uint64_t id, std::uint32_t weight = 1)
      : harness_(id, {"copy"}, {.slot_count = 1, .weight = weight}),
        channel_(harness_.make_channel()) {}

  /// Has one job that waits from now on, however often it is served.
  void want() {
    harness_.submit(1, 0, 8);
    ASSERT_EQ(channel_->take(1, 0), 1U);
  }
  void want_no_more() {
    channel_->finish(channel_->start(0), {}, 0);
    channel_->publish();
    ASSERT_EQ(harness_.collect().size(), 1U);
  }

  [[nodiscard]] Channel& channel() noexcept { return *channel_; }
  [[nodiscard]] std::int64_t credit_ns() noexcept { return channel_->share().credit_ns; }

 private:
  ChannelHarness harness_;
  std::unique_ptr<Channel> channel_;
};

/// Turns among participants, who all join in the order of their ids.
class Turns {
 public:
  Participant& add(std::uint32_t weight = 1) {
    participants_.push_back(std::make_unique<Participant>(participants_.size() + 1, weight));
    sut.join(participants_.back()->channel());
    return *participants_.back();
  }
  Participant& add_wanting(std::uint32_t weight = 1) {
    Participant& added = add(weight);
    added.want();
    return added;
  }

  /// Serves whose turn it is with something that takes so long. @return whom; 0 for nobody
  std::uint64_t serve(std::int64_t cost_ns) {
    return serve_by([=](const Channel&) { return cost_ns; });
  }
  template <class Cost>
  std::uint64_t serve_by(Cost cost) {
    Channel* const picked = sut.pick(0);
    if (picked == nullptr) {
      return 0;
    }
    const std::int64_t cost_ns = cost(*picked);
    FairTurns::charge(*picked, cost_ns);
    sut.pass_on(*picked);
    const auto id = static_cast<std::uint64_t>(picked->id());
    served_ns[id] += cost_ns;
    return id;
  }
  std::vector<std::uint64_t> serve_times(std::size_t count, std::int64_t cost_ns) {
    std::vector<std::uint64_t> order;
    while (order.size() < count) {
      order.push_back(serve(cost_ns));
    }
    return order;
  }

  FairTurns sut;
  std::map<std::uint64_t, std::int64_t> served_ns;

 private:
  std::vector<std::unique_ptr<Participant>> participants_;
};

using Order = std::vector<std::uint64_t>;

TEST(FairTurns, AreNobodysWithoutChannels) {
  FairTurns sut;
  EXPECT_TRUE(sut.empty());
  EXPECT_EQ(sut.pick(0), nullptr);
}

TEST(FairTurns, AreNobodysWhoHasNoJob) {
  Turns turns;
  turns.add();
  turns.add();
  EXPECT_FALSE(turns.sut.empty());
  EXPECT_EQ(turns.serve(1), 0U);
}

TEST(FairTurns, AreAlwaysOnesOwnAlone) {
  Turns turns;
  turns.add_wanting();
  EXPECT_EQ(turns.serve_times(5, 10 * kMs), (Order{1, 1, 1, 1, 1}));
}

TEST(FairTurns, PassFromOneToTheNext) {
  Turns turns;
  for (int i = 0; i < 3; ++i) {
    turns.add_wanting();
  }
  EXPECT_EQ(turns.serve_times(7, 1000), (Order{1, 2, 3, 1, 2, 3, 1}));
}

TEST(FairTurns, SkipThoseWithoutAJob) {
  Turns turns;
  turns.add_wanting();
  Participant& idle = turns.add();
  turns.add_wanting();
  EXPECT_EQ(turns.serve_times(4, kQuantum), (Order{1, 3, 1, 3}));
  idle.want();
  EXPECT_EQ(turns.serve_times(4, kQuantum), (Order{2, 3, 1, 2}));
}

TEST(FairTurns, AreVisitedFromTheOneWhoseTurnItIs) {
  Turns turns;
  for (int i = 0; i < 3; ++i) {
    turns.add_wanting();
  }
  turns.serve(1000);
  Order order;
  turns.sut.for_each(
      [&](const Channel& channel) { order.push_back(static_cast<std::uint64_t>(channel.id())); });
  EXPECT_EQ(order, (Order{2, 3, 1}));
}

TEST(FairTurns, GiveEqualTimeWhateverAJobTakes) {
  for (const std::int64_t large : {kQuantum, kMs, 200 * kMs}) {
    Turns turns;
    turns.add_wanting();
    turns.add_wanting();
    for (int i = 0; i < 20'000; ++i) {
      turns.serve_by([&](const Channel& channel) {
        return channel.id() == ChannelId{1} ? large : std::int64_t{10'000};
      });
      // Never further apart than one job and one round.
      ASSERT_LE(std::abs(turns.served_ns[1] - turns.served_ns[2]), large + kQuantum)
          << "after " << i << " jobs, large ones of " << large << " ns";
    }
    EXPECT_GT(turns.served_ns[1], 0);
    EXPECT_GT(turns.served_ns[2], 0);
  }
}

TEST(FairTurns, GiveTimeByWeight) {
  for (const std::int64_t cost : {std::int64_t{10'000}, 5 * kMs}) {
    Turns turns;
    turns.add_wanting(1);
    turns.add_wanting(3);
    for (int i = 0; i < 4000; ++i) {
      turns.serve(cost);
    }
    const std::int64_t total = turns.served_ns[1] + turns.served_ns[2];
    EXPECT_NEAR(static_cast<double>(turns.served_ns[1]), static_cast<double>(total) / 4,
                static_cast<double>(cost + kQuantum));
  }
}

TEST(FairTurns, PassOverSecondsInOneStep) {
  Turns turns;
  Participant& first = turns.add_wanting();
  Participant& second = turns.add_wanting();
  FairTurns::charge(first.channel(), 5'000 * kMs);
  FairTurns::charge(second.channel(), 2'000 * kMs);
  EXPECT_EQ(FairTurns::rounds_missing(first.channel()), 5'000 * kMs / kQuantum + 1);
  EXPECT_EQ(FairTurns::rounds_missing(second.channel()), 2'000 * kMs / kQuantum + 1);
  EXPECT_EQ(turns.sut.pick(0), &second.channel());
  // The rounds that the second one lacked have passed for both.
  EXPECT_EQ(second.credit_ns(), kQuantum);
  EXPECT_EQ(first.credit_ns(), -5'000 * kMs + (2'000 * kMs / kQuantum + 1) * kQuantum);
}

TEST(FairTurns, MakeTheOneWithTheLongJobWaitAsLong) {
  Turns turns;
  turns.add_wanting();
  turns.add_wanting();
  EXPECT_EQ(turns.serve(3'000 * kMs), 1U);
  int others = 0;
  while (turns.serve(kMs) == 2) {
    ++others;
  }
  EXPECT_NEAR(others, 3'000, 1);
}

TEST(FairTurns, LetNobodySaveUpMoreThanOneRound) {
  Turns turns;
  turns.add_wanting();
  Participant& idle = turns.add();
  for (int i = 0; i < 1000; ++i) {
    EXPECT_EQ(turns.serve(kMs), 1U);
    ASSERT_LE(idle.credit_ns(), kQuantum);
  }
  // Back again, it gets every other turn and not all of the next thousand.
  idle.want();
  turns.served_ns.clear();
  turns.serve_times(100, kMs);
  EXPECT_NEAR(static_cast<double>(turns.served_ns[1]), static_cast<double>(turns.served_ns[2]),
              static_cast<double>(2 * kMs + kQuantum));
}

TEST(FairTurns, NeverGiveMoreThanOneRoundAtATime) {
  Turns turns;
  Participant& first = turns.add_wanting(2);
  for (int i = 0; i < 10; ++i) {
    turns.sut.begin_rounds(1000);
    EXPECT_EQ(first.credit_ns(), 2 * kQuantum);
  }
}

TEST(FairTurns, LetTheIdleWorkTheirDebtsOff) {
  Turns turns;
  turns.add_wanting();
  Participant& debtor = turns.add_wanting();
  // One round is begun, and the debtor uses a hundred.
  EXPECT_EQ(turns.serve(1), 1U);
  EXPECT_EQ(turns.serve(100 * kQuantum), 2U);
  debtor.want_no_more();
  EXPECT_EQ(debtor.credit_ns(), -99 * kQuantum);
  turns.serve_times(40, kQuantum);
  EXPECT_GE(debtor.credit_ns(), -60 * kQuantum);
  EXPECT_LT(debtor.credit_ns(), -50 * kQuantum);
  turns.serve_times(200, kQuantum);
  EXPECT_EQ(debtor.credit_ns(), kQuantum) << "paid, and one round beyond";
}

TEST(FairTurns, GiveBackWhatWasChargedTooMuch) {
  Turns turns;
  Participant& first = turns.add_wanting();
  turns.add_wanting();
  EXPECT_EQ(turns.serve(50 * kMs), 1U);
  FairTurns::charge(first.channel(), -50 * kMs);
  EXPECT_TRUE(FairTurns::has_credit(first.channel()));
  EXPECT_EQ(FairTurns::rounds_missing(first.channel()), 0);
  EXPECT_EQ(turns.serve_times(3, 1000), (Order{2, 1, 2}));
}

TEST(FairTurns, GoOnWithTheNextWhenTheOneBeforeLeaves) {
  Turns turns;
  Participant& first = turns.add_wanting();
  turns.add_wanting();
  turns.add_wanting();
  EXPECT_EQ(turns.serve(1000), 1U);
  turns.sut.leave(first.channel());
  EXPECT_EQ(turns.serve_times(4, 1000), (Order{2, 3, 2, 3}));
}

TEST(FairTurns, GoOnWithTheNextWhenTheOneWhoseTurnItIsLeaves) {
  Turns turns;
  turns.add_wanting();
  Participant& second = turns.add_wanting();
  turns.add_wanting();
  EXPECT_EQ(turns.serve(1000), 1U);
  turns.sut.leave(second.channel());
  EXPECT_EQ(turns.serve_times(4, 1000), (Order{3, 1, 3, 1}));
}

TEST(FairTurns, BeginAgainWhenTheLastInTheRowLeavesInItsTurn) {
  Turns turns;
  turns.add_wanting();
  Participant& last = turns.add_wanting();
  EXPECT_EQ(turns.serve(1000), 1U);
  turns.sut.leave(last.channel());
  EXPECT_EQ(turns.serve_times(2, 1000), (Order{1, 1}));
}

TEST(FairTurns, StandStillForOneWhoHasLeftAlready) {
  Turns turns;
  Participant& first = turns.add_wanting();
  turns.add_wanting();
  turns.sut.leave(first.channel());
  turns.sut.leave(first.channel());
  turns.sut.pass_on(first.channel());
  EXPECT_EQ(turns.serve_times(2, 1000), (Order{2, 2}));
}

TEST(FairTurns, AreNobodysAfterAllHaveLeft) {
  Turns turns;
  Participant& only = turns.add_wanting();
  turns.serve(1000);
  turns.sut.leave(only.channel());
  EXPECT_TRUE(turns.sut.empty());
  EXPECT_EQ(turns.sut.pick(0), nullptr);
  turns.sut.join(only.channel());
  EXPECT_EQ(turns.serve(1000), 1U);
}

TEST(FairTurns, DoNotForgiveOneWhoLeavesAndJoinsAgain) {
  Turns turns;
  Participant& greedy = turns.add_wanting();
  turns.add_wanting();
  EXPECT_EQ(turns.serve(10 * kMs), 1U);
  turns.sut.leave(greedy.channel());
  turns.sut.join(greedy.channel());
  EXPECT_EQ(turns.serve_times(9, kMs), (Order{2, 2, 2, 2, 2, 2, 2, 2, 2}));
}

}  // namespace
}  // namespace overlap
