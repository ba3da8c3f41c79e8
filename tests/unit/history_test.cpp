#include "daemon/engine/history.hpp"

#include <gtest/gtest.h>

namespace overlap {
namespace {

TEST(History, LosesNothingByItself) {
  History sut;
  EXPECT_FALSE(sut.on_taken().fresh);
  EXPECT_FALSE(sut.on_started().fresh);
  EXPECT_FALSE(sut.begins_anew());
  EXPECT_TRUE(sut.on_ended(false));
  EXPECT_FALSE(sut.on_result());
}

TEST(History, AskedForIsFreshAndNoLoss) {
  History sut;
  sut.reset();
  const History::Mark mark = sut.on_taken();
  EXPECT_TRUE(mark.fresh);
  EXPECT_FALSE(mark.discontinuity);
  EXPECT_FALSE(sut.on_taken().fresh) << "for one job";
}

TEST(History, AskedForAfterALossTellsTheLossAllTheSame) {
  History sut;
  sut.lose_before_taken();
  sut.reset();
  EXPECT_TRUE(sut.on_taken().discontinuity);
}

TEST(History, LostAtAPointIsTheBusinessOfTheNextJobThere) {
  History sut;
  sut.lose_before_taken();
  EXPECT_FALSE(sut.on_started().fresh) << "that job was taken before";
  EXPECT_TRUE(sut.on_taken().discontinuity);

  sut.lose_before_started();
  EXPECT_TRUE(sut.begins_anew());
  EXPECT_FALSE(sut.on_result()) << "that job was started before";
  const History::Mark mark = sut.on_started();
  EXPECT_TRUE(mark.fresh && mark.discontinuity);
  EXPECT_FALSE(sut.begins_anew());

  sut.lose_before_ended();
  EXPECT_FALSE(sut.begins_anew()) << "the kernel has seen to it";
  EXPECT_TRUE(sut.on_result());
  EXPECT_FALSE(sut.on_result());
}

TEST(History, SpoiltMakesResultsMeanNothingUpToTheNextFreshJob) {
  History sut;
  sut.spoil();
  EXPECT_FALSE(sut.on_ended(false));
  EXPECT_FALSE(sut.on_ended(false));
  EXPECT_TRUE(sut.on_started().fresh);
  EXPECT_FALSE(sut.on_ended(false)) << "it was on the device before";
  EXPECT_TRUE(sut.on_ended(true));
  EXPECT_TRUE(sut.on_ended(false));
}

TEST(History, SpoiltTwiceNeedsOneFreshJob) {
  History sut;
  sut.spoil();
  EXPECT_TRUE(sut.on_started().fresh);
  sut.spoil();
  EXPECT_FALSE(sut.on_started().fresh) << "that would cost what the fresh job has begun";
  EXPECT_TRUE(sut.on_ended(true));
  sut.spoil();
  EXPECT_TRUE(sut.on_started().fresh);
}

}  // namespace
}  // namespace overlap
