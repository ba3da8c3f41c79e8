#include "daemon/device/cuda_end_words.hpp"

#include "daemon/device/cuda_handles.hpp"
#include "kernels/numeric/copy.hpp"
#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <memory>
#include <set>
#include <vector>

namespace overlap::test {
namespace {

constexpr std::size_t kPageBytes = 4096;

class CudaEndWordsTest : public CudaFixture {
 protected:
  /// In, kernel, out, and the end that the host asks after.
  [[nodiscard]] bool issues_to_its_end(TestLane& lane, const Kernel& kernel) {
    return lane.copies_in() && lane.launches(kernel) && lane.copies_out() &&
           device().record_end(lane.over(), lane.stream()).ok();
  }
};

// --- the words themselves

TEST_F(CudaEndWordsTest, GivesWordsOfTheirOwnThatAreZero) {
  CudaEndWords sut(0);
  std::set<const volatile std::uint32_t*> words;
  // More than there are on a page.
  for (int i = 0; i < 100; ++i) {
    const volatile std::uint32_t* const word = sut.create();
    ASSERT_NE(word, nullptr) << "this driver writes no words";
    EXPECT_TRUE(CudaEndWords::holds(word, 0));
    words.insert(word);
  }
  EXPECT_EQ(words.size(), 100U);
}

TEST_F(CudaEndWordsTest, AStreamWritesItsWordAndNoOther) {
  CudaEndWords sut(0);
  const volatile std::uint32_t* const word = sut.create();
  const volatile std::uint32_t* const neighbour = sut.create();
  ASSERT_NE(neighbour, nullptr);
  const CudaStream stream;
  for (const std::uint32_t value : {1U, 2U, 0xffff'ffffU, 0U, 7U}) {
    ASSERT_EQ(sut.write(stream.get(), word, value), cudaSuccess);
    EXPECT_TRUE(comes_true([&] { return CudaEndWords::holds(word, value); }));
    EXPECT_TRUE(CudaEndWords::holds(neighbour, 0));
  }
  ASSERT_EQ(cudaStreamSynchronize(stream.get()), cudaSuccess);
}

// --- as the device uses them

TEST_F(CudaEndWordsTest, AnEndIsPendingWhileTheWorkIsCertainlyRunning) {
  TestLane lane(device(), kPageBytes);
  PinnedSpinWord word(device());
  ASSERT_TRUE(issues_to_its_end(lane, SpinKernel(word.get())));
  ASSERT_TRUE(word.is_spun_on());
  for (int i = 0; i < 10'000; ++i) {
    ASSERT_EQ(device().query(lane.over()).state, EventState::pending);
  }
  EXPECT_FALSE(lane.has_result());
  word.release();
  EXPECT_EQ(outcome(device(), lane.over()).state, EventState::ready);
  EXPECT_TRUE(lane.has_result());
}

TEST_F(CudaEndWordsTest, AnEndIsReadyOnlyWhenEveryByteIsThere) {
  TestLane lane(device(), 1U << 20U);
  for (unsigned round = 0; round < 300; ++round) {
    lane.fill(round);
    ASSERT_TRUE(issues_to_its_end(lane, CopyKernel()));
    ASSERT_EQ(outcome(device(), lane.over()).state, EventState::ready) << "round " << round;
    ASSERT_TRUE(lane.has_result()) << "round " << round;
    ASSERT_EQ(device().query(lane.over()).state, EventState::ready) << "and stays so";
  }
}

TEST_F(CudaEndWordsTest, AKernelsOwnWritesOverTheBusAreThereAsWell) {
  PinnedPages input(device(), kPageBytes);
  PinnedPages output(device(), kPageBytes);
  OneJob job(device(), input.data(), output.data(), kPageBytes);
  const StreamId stream = device().create_stream(StreamPriority::normal);
  const EventId over = device().create_event();
  for (int round = 0; round < 2000; ++round) {
    std::ranges::fill(input.span(), static_cast<std::byte>(round));
    ASSERT_TRUE(device().launch(stream, CopyKernel(), job.batch()).ok());
    ASSERT_TRUE(device().record_end(over, stream).ok());
    ASSERT_EQ(outcome(device(), over).state, EventState::ready);
    ASSERT_TRUE(std::ranges::equal(input.span(), output.span())) << "round " << round;
  }
}

TEST_F(CudaEndWordsTest, ARecordingAnewForgetsTheOneBefore) {
  TestLane lane(device(), kPageBytes);
  ASSERT_TRUE(issues_to_its_end(lane, CopyKernel()));
  ASSERT_EQ(outcome(device(), lane.over()).state, EventState::ready);
  PinnedSpinWord word(device());
  ASSERT_TRUE(issues_to_its_end(lane, SpinKernel(word.get())));
  EXPECT_EQ(device().query(lane.over()).state, EventState::pending);
  // Twice without an end between: the last one counts.
  ASSERT_TRUE(device().record_end(lane.over(), lane.stream()).ok());
  EXPECT_EQ(device().query(lane.over()).state, EventState::pending);
  word.release();
  EXPECT_EQ(outcome(device(), lane.over()).state, EventState::ready);
}

TEST_F(CudaEndWordsTest, APlainRecordingOfTheSameEventWorksBeforeAndAfter) {
  TestLane lane(device(), kPageBytes);
  for (int round = 0; round < 20; ++round) {
    lane.fill(static_cast<unsigned>(round));
    PinnedSpinWord word(device());
    const SpinKernel spin(word.get());
    ASSERT_TRUE(round % 2 == 0 ? lane.issues(spin) : issues_to_its_end(lane, spin));
    EXPECT_EQ(device().query(lane.over()).state, EventState::pending) << "round " << round;
    word.release();
    ASSERT_EQ(outcome(device(), lane.over()).state, EventState::ready) << "round " << round;
    EXPECT_TRUE(lane.has_result());
  }
}

TEST_F(CudaEndWordsTest, AnEndCanBeWaitedForByAnotherStream) {
  TestLane first(device(), kPageBytes);
  TestLane second(device(), kPageBytes);
  PinnedSpinWord word(device());
  ASSERT_TRUE(issues_to_its_end(first, SpinKernel(word.get())));
  ASSERT_TRUE(device().wait(second.stream(), first.over()).ok());
  ASSERT_TRUE(issues_to_its_end(second, CopyKernel()));
  ASSERT_TRUE(word.is_spun_on());
  EXPECT_EQ(device().query(second.over()).state, EventState::pending);
  word.release();
  EXPECT_EQ(outcome(device(), second.over()).state, EventState::ready);
  EXPECT_EQ(device().query(first.over()).state, EventState::ready);
}

TEST_F(CudaEndWordsTest, ManyEndsAreToldApart) {
  constexpr std::size_t kLanes = 6;
  std::vector<std::unique_ptr<TestLane>> lanes;
  for (std::size_t i = 0; i < kLanes; ++i) {
    lanes.push_back(std::make_unique<TestLane>(device(), kPageBytes));
  }
  // One that spins, and its neighbours come to their ends all the same.
  PinnedSpinWord word(device());
  ASSERT_TRUE(issues_to_its_end(*lanes[kLanes / 2], SpinKernel(word.get())));
  for (unsigned round = 0; round < 20; ++round) {
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i != kLanes / 2) {
        lanes[i]->fill(static_cast<unsigned>(round * kLanes + i));
        ASSERT_TRUE(issues_to_its_end(*lanes[i], CopyKernel()));
      }
    }
    for (std::size_t i = 0; i < kLanes; ++i) {
      if (i != kLanes / 2) {
        ASSERT_EQ(outcome(device(), lanes[i]->over()).state, EventState::ready);
        ASSERT_TRUE(lanes[i]->has_result()) << "lane " << i;
      }
    }
  }
  EXPECT_EQ(device().query(lanes[kLanes / 2]->over()).state, EventState::pending);
  word.release();
  EXPECT_EQ(outcome(device(), lanes[kLanes / 2]->over()).state, EventState::ready);
}

}  // namespace
}  // namespace overlap::test
