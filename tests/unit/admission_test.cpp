#include "daemon/control/admission.hpp"

#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <utility>

namespace overlap {
namespace {

using testing::says;
using Verdict = Admission::Verdict;

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20U;
constexpr std::uint64_t kHuge = UINT64_MAX;

AdmissionLimits limits(std::uint64_t pinned_bytes = 10 * kMiB) {
  AdmissionLimits limits;
  limits.max_pinned_bytes = pinned_bytes;
  limits.max_channels = 3;
  limits.max_channels_per_uid = 2;
  return limits;
}

PeerIdentity user(uid_t uid, gid_t gid = 100) {
  return {.pid = 1, .uid = uid, .gid = gid, .other_groups = {}};
}

TEST(Admission, BeginsWithEmptyBooks) {
  const Admission sut(limits());
  EXPECT_EQ(sut.channel_count(), 0U);
  EXPECT_EQ(sut.pinned_bytes(), 0U);
}

TEST(Admission, GrantsUpToTheLastByteAndNotOneMore) {
  Admission sut(limits());
  EXPECT_EQ(sut.grant(user(1), 10 * kMiB - 1).verdict, Verdict::granted);
  EXPECT_EQ(sut.grant(user(2), 2).verdict, Verdict::full);
  EXPECT_EQ(sut.grant(user(2), 1).verdict, Verdict::granted);
  EXPECT_EQ(sut.pinned_bytes(), 10 * kMiB);
  EXPECT_EQ(sut.channel_count(), 2U);
}

TEST(Admission, RefusesHugeNumbersWithoutWrapping) {
  Admission sut(limits());
  ASSERT_EQ(sut.grant(user(1), kMiB).verdict, Verdict::granted);
  for (const std::uint64_t bytes :
       {kHuge, kHuge - kMiB, kHuge - kMiB + 1, kHuge / 2, kHuge / 2 + 1}) {
    EXPECT_EQ(sut.grant(user(2), bytes).verdict, Verdict::full) << bytes;
  }
  EXPECT_EQ(sut.pinned_bytes(), kMiB);
  EXPECT_EQ(sut.channel_count(), 1U);
}

TEST(Admission, CountsToTheEndOfTheNumbersWithoutALimit) {
  Admission sut(limits(kHuge));
  EXPECT_EQ(sut.grant(user(1), kHuge - 1).verdict, Verdict::granted);
  EXPECT_EQ(sut.grant(user(1), 2).verdict, Verdict::full);
  EXPECT_EQ(sut.grant(user(1), 1).verdict, Verdict::granted);
  EXPECT_EQ(sut.pinned_bytes(), kHuge);
}

TEST(Admission, SaysHowMuchIsAskedForInUseAndAllowed) {
  Admission sut(limits());
  ASSERT_EQ(sut.grant(user(1), 8 * kMiB).verdict, Verdict::granted);
  EXPECT_TRUE(says(sut.grant(user(2), 3 * kMiB).text,
                   {"3MiB", "8MiB", "10MiB", "ask for less", "max-pinned-bytes"}));
}

TEST(Admission, HasNothingToSayWhenItGrants) {
  Admission sut(limits());
  EXPECT_EQ(sut.grant(user(1), 1).text, "");
  EXPECT_EQ(sut.permit(user(1)).text, "");
}

TEST(Admission, IsFullForNowWhileMemoryIsOnItsWayBack) {
  Admission sut(limits());
  ASSERT_EQ(sut.grant(user(1), 8 * kMiB).verdict, Verdict::granted);
  sut.start_return(1, 8 * kMiB);
  EXPECT_EQ(sut.pinned_bytes(), 8 * kMiB);
  EXPECT_EQ(sut.grant(user(2), 10 * kMiB).verdict, Verdict::full_for_now);
  EXPECT_EQ(sut.grant(user(2), 10 * kMiB + 1).verdict, Verdict::full);
  EXPECT_EQ(sut.grant(user(2), 2 * kMiB).verdict, Verdict::granted);
  EXPECT_EQ(sut.grant(user(2), 9 * kMiB).verdict, Verdict::full);
  EXPECT_EQ(sut.grant(user(2), 8 * kMiB).verdict, Verdict::full_for_now);
  sut.finish_return(8 * kMiB);
  EXPECT_EQ(sut.grant(user(2), 8 * kMiB).verdict, Verdict::granted);
}

TEST(Admission, HasAPlaceAgainAsSoonAsAChannelEnds) {
  Admission sut(limits());
  for (const uid_t uid : {1U, 2U, 3U}) {
    ASSERT_EQ(sut.grant(user(uid), 1).verdict, Verdict::granted);
  }
  const Admission::Decision refused = sut.grant(user(4), 1);
  EXPECT_EQ(refused.verdict, Verdict::full);
  EXPECT_TRUE(says(refused.text, {"all 3 channels", "max-channels"}));
  sut.start_return(2, 1);
  EXPECT_EQ(sut.channel_count(), 2U);
  EXPECT_EQ(sut.grant(user(4), 1).verdict, Verdict::granted);
}

TEST(Admission, CountsEachUserByItself) {
  Admission sut(limits());
  ASSERT_EQ(sut.grant(user(1000), 1).verdict, Verdict::granted);
  ASSERT_EQ(sut.grant(user(1000), 1).verdict, Verdict::granted);
  const Admission::Decision refused = sut.grant(user(1000), 1);
  EXPECT_EQ(refused.verdict, Verdict::full);
  EXPECT_TRUE(says(refused.text, {"uid 1000", "2 channels", "max-channels-per-uid"}));
  EXPECT_EQ(sut.grant(user(1001), 1).verdict, Verdict::granted);
  sut.start_return(1000, 1);
  EXPECT_EQ(sut.grant(user(1000), 1).verdict, Verdict::granted);
}

TEST(Admission, ReturnsToEmptyBooksAfterManyRounds) {
  Admission sut(limits());
  for (int round = 0; round < 1000; ++round) {
    ASSERT_EQ(sut.grant(user(1), 6 * kMiB).verdict, Verdict::granted) << round;
    ASSERT_EQ(sut.grant(user(2), 4 * kMiB).verdict, Verdict::granted) << round;
    sut.start_return(2, 4 * kMiB);
    sut.start_return(1, 6 * kMiB);
    sut.finish_return(6 * kMiB);
    sut.finish_return(4 * kMiB);
  }
  EXPECT_EQ(sut.channel_count(), 0U);
  EXPECT_EQ(sut.pinned_bytes(), 0U);
}

TEST(Admission, LetsEverybodyInWhereNobodyIsNamed) {
  const Admission sut(limits());
  EXPECT_EQ(sut.permit(user(0, 0)).verdict, Verdict::granted);
  EXPECT_EQ(sut.permit(user(UINT32_MAX - 1, 5)).verdict, Verdict::granted);
}

TEST(Admission, LetsInWhoIsNamedOrIsInANamedGroup) {
  AdmissionLimits named = limits();
  named.allowed_users = {1000, 1001};
  named.allowed_groups = {50};
  const Admission sut(std::move(named));
  EXPECT_EQ(sut.permit(user(1001)).verdict, Verdict::granted);
  EXPECT_EQ(sut.permit(user(7, 50)).verdict, Verdict::granted);
  PeerIdentity member = user(7);
  member.other_groups = {48, 50};
  EXPECT_EQ(sut.permit(member).verdict, Verdict::granted);
}

TEST(Admission, KeepsOutEverybodyElseRootIncluded) {
  AdmissionLimits named = limits();
  named.allowed_groups = {50};
  const Admission sut(std::move(named));
  for (const uid_t uid : {0U, 50U, 1000U}) {
    const Admission::Decision refused = sut.permit(user(uid));
    EXPECT_EQ(refused.verdict, Verdict::not_permitted);
    EXPECT_TRUE(says(refused.text, {"uid " + std::to_string(uid) + " ", "ask the administrator"}));
  }
}

}  // namespace
}  // namespace overlap
