#include "daemon/device/cuda_ring.hpp"

#include "kernels/numeric/copy.hpp"
#include "shared/file_descriptor.hpp"
#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <unistd.h>
#include <chrono>
#include <cstddef>
#include <cstdint>

namespace overlap::test {
namespace {

constexpr std::size_t kPageBytes = 4096;

using CudaRingTest = CudaFixture;

/// Whether an eventfd becomes readable in time.
bool rings(int eventfd) {
  pollfd readable{eventfd, POLLIN, 0};
  const auto enough = std::chrono::milliseconds(kEnough);
  return ::poll(&readable, 1, static_cast<int>(enough.count())) == 1;
}

/// The count of an eventfd, which goes back to 0; 0 if nobody rang.
std::uint64_t rung(int eventfd) {
  std::uint64_t count = 0;
  return ::read(eventfd, &count, sizeof count) == sizeof count ? count : 0;
}

TEST_F(CudaRingTest, RingsWhenAnEventIsOverAndAgainForTheNext) {
  const FileDescriptor bell = make_eventfd();
  TestLane lane(device(), kPageBytes);
  for (int round = 0; round < 100; ++round) {
    ASSERT_TRUE(lane.issues(CopyKernel()));
    device().ring_when_over(lane.over(), bell.get());
    ASSERT_TRUE(rings(bell.get())) << "round " << round;
    EXPECT_EQ(device().query(lane.over()).state, EventState::ready);
    silence(bell.get());
  }
}

TEST_F(CudaRingTest, ArmsABoundedNumberOfRings) {
  const FileDescriptor bell = make_eventfd();
  TestLane lane(device(), kPageBytes);
  TestLane last(device(), kPageBytes);
  PinnedSpinWord word(device());
  ASSERT_TRUE(lane.issues(SpinKernel(word.get())));
  for (int round = 0; round < 100; ++round) {
    // A new recording each time, so that every call has something new to arm for.
    ASSERT_TRUE(lane.records());
    device().ring_when_over(lane.over(), bell.get());
  }
  EXPECT_EQ(rung(bell.get()), 0U);
  word.release();
  ASSERT_TRUE(rings(bell.get()));
  EXPECT_EQ(outcome(device(), lane.over()).state, EventState::ready);
  std::uint64_t count = rung(bell.get());
  // Rings come in the order armed: once this one has come, so have all the others.
  const FileDescriptor last_bell = make_eventfd();
  ASSERT_TRUE(comes_true([&] {
    device().ring_when_over(last.over(), last_bell.get());
    return rung(last_bell.get()) != 0;
  }));
  count += rung(bell.get());
  EXPECT_GE(count, 1U);
  EXPECT_LE(count, CudaRing::kMaxArmed);
}

TEST_F(CudaRingTest, ArmsOneRingForOneRecording) {
  const FileDescriptor bell = make_eventfd();
  TestLane lane(device(), kPageBytes);
  {
    PinnedSpinWord word(device());
    ASSERT_TRUE(lane.issues(SpinKernel(word.get())));
    for (int round = 0; round < 10; ++round) {
      device().ring_when_over(lane.over(), bell.get());
    }
    word.release();
    ASSERT_TRUE(rings(bell.get()));
  }
  EXPECT_EQ(rung(bell.get()), 1U);
}

TEST_F(CudaRingTest, RingsNoStrangerThatGotTheNumberOfAClosedEventfd) {
  TestLane lane(device(), kPageBytes);
  const FileDescriptor later_bell = make_eventfd();
  PinnedSpinWord word(device());
  ASSERT_TRUE(lane.issues(SpinKernel(word.get())));
  const FileDescriptor bell = make_eventfd();
  device().ring_when_over(lane.over(), bell.get());
  const FileDescriptor stranger = make_eventfd();
  ASSERT_EQ(::dup2(stranger.get(), bell.get()), bell.get());
  word.release();
  ASSERT_EQ(outcome(device(), lane.over()).state, EventState::ready);
  device().ring_when_over(lane.over(), later_bell.get());
  // Rings come in the order armed.
  ASSERT_TRUE(rings(later_bell.get()));
  EXPECT_EQ(rung(stranger.get()), 0U);
}

}  // namespace
}  // namespace overlap::test
