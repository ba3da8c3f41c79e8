#include "kernels/numeric/copy.hpp"
#include "shared/file_descriptor.hpp"
#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <poll.h>
#include <memory>
#include <optional>
#include <vector>

// Overlap is proved by construction, never by a stopwatch: a kernel that has begun and cannot end
// by itself holds one stream, and the work of another stream ends meanwhile.

namespace overlap::test {
namespace {

constexpr std::size_t kSmallBytes = 4096;
constexpr std::size_t kLargeBytes = std::size_t{4} << 20;

class CudaOverlap : public CudaFixture {
 protected:
  /// Runs each kernel once: the first launch of one may wait for everything that runs.
  void warm_up() {
    TestLane lane(device(), kSmallBytes);
    PinnedSpinWord word(device());
    word.release();
    ASSERT_TRUE(lane.issues(SpinKernel(word.get())));
    ASSERT_TRUE(lane.issues(CopyKernel()));
    ASSERT_EQ(outcome(device(), lane.over()).state, EventState::ready);
  }
};

TEST_F(CudaOverlap, CopiesOfAnotherStreamEndWhileAKernelRuns) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  TestLane busy(device(), kLargeBytes);
  TestLane other(device(), kLargeBytes);
  other.fill(2);
  PinnedSpinWord word(device());
  ASSERT_TRUE(busy.issues(SpinKernel(word.get())));
  ASSERT_TRUE(word.is_spun_on());

  ASSERT_TRUE(other.copies_in());
  ASSERT_TRUE(other.copies_input_back());
  ASSERT_TRUE(other.records());
  EXPECT_EQ(outcome(device(), other.over()).state, EventState::ready);
  EXPECT_EQ(device().query(busy.over()).state, EventState::pending);
  EXPECT_TRUE(other.has_result());
  EXPECT_FALSE(busy.has_result());

  word.release();
  EXPECT_EQ(outcome(device(), busy.over()).state, EventState::ready);
  EXPECT_EQ(busy.job().status(), OVERLAP_ITEM_OK);
  EXPECT_TRUE(busy.has_result());
}

TEST_F(CudaOverlap, KernelAndCopiesOfAnotherStreamEndWhileAKernelRuns) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  TestLane busy(device(), kLargeBytes);
  TestLane other(device(), kLargeBytes);
  PinnedSpinWord word(device());
  ASSERT_TRUE(busy.issues(SpinKernel(word.get())));
  ASSERT_TRUE(word.is_spun_on());

  for (unsigned job = 2; job < 5; ++job) {
    other.fill(job);
    ASSERT_TRUE(other.issues(CopyKernel()));
    ASSERT_EQ(outcome(device(), other.over()).state, EventState::ready) << "job " << job;
    EXPECT_TRUE(other.has_result()) << "job " << job;
  }
  EXPECT_EQ(device().query(busy.over()).state, EventState::pending);

  word.release();
  EXPECT_EQ(outcome(device(), busy.over()).state, EventState::ready);
  EXPECT_EQ(busy.job().status(), OVERLAP_ITEM_OK);
  EXPECT_TRUE(busy.has_result());
}

TEST_F(CudaOverlap, StreamThatWaitsForAnEventStaysBehindIt) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  TestLane busy(device(), kSmallBytes);
  TestLane waiting(device(), kSmallBytes);
  TestLane free(device(), kSmallBytes);
  PinnedSpinWord word(device());
  ASSERT_TRUE(busy.issues(SpinKernel(word.get())));
  ASSERT_TRUE(word.is_spun_on());

  ASSERT_TRUE(device().wait(waiting.stream(), busy.over()).ok());
  ASSERT_TRUE(waiting.issues(CopyKernel()));
  // Issued later, over earlier: by then the waiting one would have been over too.
  ASSERT_TRUE(free.issues(CopyKernel()));
  ASSERT_EQ(outcome(device(), free.over()).state, EventState::ready);
  EXPECT_EQ(device().query(waiting.over()).state, EventState::pending);
  EXPECT_FALSE(waiting.has_result());

  word.release();
  EXPECT_EQ(outcome(device(), waiting.over()).state, EventState::ready);
  EXPECT_EQ(device().query(busy.over()).state, EventState::ready);
  EXPECT_TRUE(waiting.has_result());
}

TEST_F(CudaOverlap, AllocatingReleasingAndPinningWaitForNoKernel) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  TestLane busy(device(), kSmallBytes);
  std::optional<PinnedPages> pinned_meanwhile;
  PinnedSpinWord word(device());
  ASSERT_TRUE(busy.issues(SpinKernel(word.get())));
  ASSERT_TRUE(word.is_spun_on());

  std::byte* const memory = device().allocate(std::size_t{64} << 20);
  EXPECT_NE(memory, nullptr);
  device().release(memory);
  pinned_meanwhile.emplace(device(), kLargeBytes);
  (void)device().create_stream(StreamPriority::normal);
  (void)device().create_event();
  EXPECT_EQ(device().query(busy.over()).state, EventState::pending);

  word.release();
  EXPECT_EQ(outcome(device(), busy.over()).state, EventState::ready);
  EXPECT_EQ(busy.job().status(), OVERLAP_ITEM_OK);
}

// Twelve streams, as four three-stream lanes have, of which some wait: none may share a queue with
// one that does not, and a ring that is armed waits too.
TEST_F(CudaOverlap, WaitingStreamsAndAnArmedRingHoldUpNoOtherStream) {
  ASSERT_NO_FATAL_FAILURE(warm_up());
  constexpr std::size_t kStreams = 12;
  constexpr std::size_t kWaiting = 4;
  const FileDescriptor bell = make_eventfd();
  std::vector<std::unique_ptr<TestLane>> lanes;
  for (std::size_t index = 0; index < kStreams; ++index) {
    lanes.push_back(std::make_unique<TestLane>(device(), kSmallBytes));
  }
  PinnedSpinWord word(device());
  ASSERT_TRUE(lanes[0]->issues(SpinKernel(word.get())));
  ASSERT_TRUE(word.is_spun_on());
  device().ring_when_over(lanes[0]->over(), bell.get());
  for (std::size_t index = 1; index <= kWaiting; ++index) {
    ASSERT_TRUE(device().wait(lanes[index]->stream(), lanes[0]->over()).ok());
    ASSERT_TRUE(lanes[index]->issues(CopyKernel()));
  }

  for (std::size_t index = kWaiting + 1; index < kStreams; ++index) {
    ASSERT_TRUE(lanes[index]->issues(CopyKernel()));
  }
  for (std::size_t index = kWaiting + 1; index < kStreams; ++index) {
    EXPECT_EQ(outcome(device(), lanes[index]->over()).state, EventState::ready)
        << "stream " << index;
  }
  EXPECT_EQ(device().query(lanes[0]->over()).state, EventState::pending);
  pollfd readable{bell.get(), POLLIN, 0};
  EXPECT_EQ(::poll(&readable, 1, 0), 0);

  word.release();
  for (const auto& lane : lanes) {
    EXPECT_EQ(outcome(device(), lane->over()).state, EventState::ready);
    EXPECT_TRUE(lane->has_result());
  }
  EXPECT_EQ(lanes[0]->job().status(), OVERLAP_ITEM_OK);
  const auto enough = std::chrono::milliseconds(kEnough);
  EXPECT_EQ(::poll(&readable, 1, static_cast<int>(enough.count())), 1);
}

}  // namespace
}  // namespace overlap::test
