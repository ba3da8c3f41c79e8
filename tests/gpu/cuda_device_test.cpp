#include "daemon/device/cuda_device.hpp"

#include "kernels/numeric/copy.hpp"
#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <thread>
#include <vector>

namespace overlap::test {
namespace {

constexpr std::size_t kPageBytes = 4096;
constexpr std::size_t kBytes = std::size_t{1} << 20;

class CudaDeviceTest : public CudaFixture {
 protected:
  /// Whether the device does a whole job, and nothing of an earlier error is left.
  [[nodiscard]] bool works() {
    if (cudaPeekAtLastError() != cudaSuccess) {
      return false;
    }
    TestLane lane(device(), kPageBytes);
    return lane.issues(CopyKernel()) && outcome(device(), lane.over()).state == EventState::ready &&
           lane.has_result();
  }
};

TEST_F(CudaDeviceTest, SaysWhatItIs) {
  const DeviceProperties& properties = device().properties();
  EXPECT_EQ(properties.backend, "cuda");
  EXPECT_NE(properties.name, "");
  EXPECT_FALSE(properties.works_in_place);
  EXPECT_TRUE(properties.kernels_reach_pinned);
  EXPECT_GE(properties.default_lane_count, 2U);
  EXPECT_EQ(properties.default_depth, 2U);
  EXPECT_GE(properties.copy_engine_count, 1U);
  EXPECT_GE(properties.numa_node, -1);
  EXPECT_EQ(device().describe(700).substr(0, 29), "cudaErrorIllegalAddress (700)");
}

TEST_F(CudaDeviceTest, PinsFromAnyThread) {
  std::vector<std::byte*> areas;
  for (int index = 0; index < 4; ++index) {
    void* const area =
        ::mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    ASSERT_NE(area, MAP_FAILED);
    areas.push_back(static_cast<std::byte*>(area));
  }
  {
    std::vector<std::jthread> threads;
    for (std::byte* const area : areas) {
      threads.emplace_back([&, area] {
        for (int round = 0; round < 10; ++round) {
          EXPECT_TRUE(device().pin({area, kBytes}).ok());
          EXPECT_TRUE(device().unpin(area).ok());
        }
      });
    }
  }
  for (std::byte* const area : areas) {
    ::munmap(area, kBytes);
  }
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, PinsTheSameRangeTwiceWithoutAWord) {
  const PinnedPages pages(device(), kBytes);
  EXPECT_TRUE(device().pin(pages.span()).ok());
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, RefusesToPinPartOfAPinnedRange) {
  const PinnedPages pages(device(), kBytes);
  const DeviceStatus status = device().pin(pages.span().first(kPageBytes));
  EXPECT_EQ(status.outcome, DeviceOutcome::failed);
  EXPECT_EQ(status.code, cudaErrorHostMemoryAlreadyRegistered);
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, RefusesToPinNothing) {
  const PinnedPages pages(device(), kBytes);
  EXPECT_EQ(device().pin({}).outcome, DeviceOutcome::failed);
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, RefusesToUnpinWhatIsNotPinned) {
  std::byte* start = nullptr;
  {
    const PinnedPages pages(device(), kBytes);
    start = pages.data();
  }
  const DeviceStatus status = device().unpin(start);
  EXPECT_EQ(status.outcome, DeviceOutcome::failed);
  EXPECT_NE(status.code, 0);
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, AllocatesAlignedMemoryThatItUsesAgain) {
  for (const std::uint64_t bytes : {1ULL, 255ULL, 4096ULL, 64ULL << 20U}) {
    const DeviceMemory first(device(), DeviceMemory::Kind::buffer, bytes);
    const DeviceMemory second(device(), DeviceMemory::Kind::buffer, bytes);
    ASSERT_NE(first.data(), nullptr);
    ASSERT_NE(second.data(), nullptr);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(first.data()) % 256, 0U);
    EXPECT_EQ(reinterpret_cast<std::uintptr_t>(second.data()) % 256, 0U);
  }
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, HasNoMemoryForTooMuch) {
  EXPECT_EQ(device().allocate(1ULL << 50U), nullptr);
  EXPECT_EQ(device().allocate_host_table(1ULL << 50U), nullptr);
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, RunsTheRangesOfACopyInOrder) {
  const PinnedPages host(device(), kBytes);
  const DeviceMemory memory(device(), DeviceMemory::Kind::buffer, kBytes);
  const StreamId stream = device().create_stream(StreamPriority::normal);
  const EventId over = device().create_event();
  std::byte* const data = host.data();
  data[0] = std::byte{1};
  data[1] = std::byte{2};
  data[2] = std::byte{3};
  // The last one wins; an empty one is none.
  const std::array in{CopyRange{memory.data(), data, 1}, CopyRange{memory.data(), data + 1, 1},
                      CopyRange{memory.data() + 1, data + 2, 1},
                      CopyRange{memory.data(), data + 2, 0}};
  const std::array out{CopyRange{data + 10, memory.data(), 2}};
  ASSERT_TRUE(device().copy_in(stream, in).ok());
  ASSERT_TRUE(device().copy_out(stream, out).ok());
  ASSERT_TRUE(device().copy_out(stream, {}).ok());
  ASSERT_TRUE(device().record(over, stream).ok());
  ASSERT_EQ(outcome(device(), over).state, EventState::ready);
  EXPECT_EQ(data[10], std::byte{2});
  EXPECT_EQ(data[11], std::byte{3});
}

TEST_F(CudaDeviceTest, FailsACopyAcrossTwoPinnedRangesAndGoesOn) {
  void* const mapped =
      ::mmap(nullptr, 2 * kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  ASSERT_NE(mapped, MAP_FAILED);
  auto* const area = static_cast<std::byte*>(mapped);
  ASSERT_TRUE(device().pin({area, kBytes}).ok());
  ASSERT_TRUE(device().pin({area + kBytes, kBytes}).ok());
  {
    const DeviceMemory memory(device(), DeviceMemory::Kind::buffer, kBytes);
    const StreamId stream = device().create_stream(StreamPriority::normal);
    const CopyRange across{memory.data(), area + kBytes / 2, kBytes};
    const DeviceStatus status = device().copy_in(stream, {&across, 1});
    EXPECT_EQ(status.outcome, DeviceOutcome::failed) << device().describe(status.code);
    EXPECT_EQ(status.code, cudaErrorInvalidValue);
    const CopyRange within{memory.data(), area + kBytes, kBytes};
    EXPECT_TRUE(device().copy_in(stream, {&within, 1}).ok());
    EXPECT_TRUE(works());
  }
  EXPECT_TRUE(device().unpin(area).ok());
  EXPECT_TRUE(device().unpin(area + kBytes).ok());
  ::munmap(mapped, 2 * kBytes);
}

TEST_F(CudaDeviceTest, RunsAKernelInPinnedMemoryItself) {
  const PinnedPages host(device(), 2 * kBytes);
  std::fill_n(host.data(), kBytes, std::byte{0x5a});
  const OneJob job(device(), host.data(), host.data() + kBytes, kBytes);
  const StreamId stream = device().create_stream(StreamPriority::normal);
  const EventId over = device().create_event();
  ASSERT_TRUE(device().launch(stream, CopyKernel(), job.batch()).ok());
  ASSERT_TRUE(device().record(over, stream).ok());
  ASSERT_EQ(outcome(device(), over).state, EventState::ready);
  EXPECT_TRUE(std::ranges::equal(host.span().first(kBytes), host.span().last(kBytes)));
}

TEST_F(CudaDeviceTest, FailsALaunchThatCannotBeAndGoesOn) {
  TestLane lane(device(), kPageBytes);
  PinnedSpinWord word(device());
  const SpinKernel impossible(word.get(), 2048);
  const DeviceStatus status = device().launch(lane.stream(), impossible, lane.job().batch());
  EXPECT_EQ(status.outcome, DeviceOutcome::failed) << device().describe(status.code);
  // Which of the two it is depends on the driver.
  EXPECT_TRUE(status.code == cudaErrorInvalidConfiguration || status.code == cudaErrorInvalidValue)
      << device().describe(status.code);
  EXPECT_TRUE(works());
}

TEST_F(CudaDeviceTest, TakesAnEventThatWasNeverRecordedAsReady) {
  EXPECT_EQ(device().query(device().create_event()).state, EventState::ready);
}

TEST_F(CudaDeviceTest, LeavesNoErrorBehindAfterAskingForAPendingEvent) {
  TestLane lane(device(), kPageBytes);
  PinnedSpinWord word(device());
  ASSERT_TRUE(lane.issues(SpinKernel(word.get())));
  const EventQuery query = device().query(lane.over());
  EXPECT_EQ(query.state, EventState::pending);
  EXPECT_EQ(query.code, 0);
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
  word.release();
  EXPECT_EQ(outcome(device(), lane.over()).state, EventState::ready);
}

TEST_F(CudaDeviceTest, WorksOnAThreadThatDidNotOpenIt) {
  bool worked = false;
  std::jthread([&] { worked = works(); }).join();
  EXPECT_TRUE(worked);
}

/// Breaks the context with a kernel that reads where nothing is. @return 0, or the line that was
/// not as it should be
int lose_the_context(Device& device) {
  // Never destroyed: with a lost context nothing can be unpinned or freed.
  TestLane& lane = *new TestLane(device, kPageBytes);
  auto* const nowhere = reinterpret_cast<SpinWord*>(std::uintptr_t{0x10});
  if (!lane.copies_in() || !lane.launches(SpinKernel(nowhere))) {
    return __LINE__;
  }
  // The kernel may have failed by now, or later.
  (void)lane.records();
  const EventQuery query = outcome(device, lane.over());
  if (query.state != EventState::lost || query.code != cudaErrorIllegalAddress) {
    return __LINE__;
  }
  for (int round = 0; round < 2; ++round) {
    const DeviceStatus status = device.record(lane.over(), lane.stream());
    if (status.outcome != DeviceOutcome::lost || status.code != cudaErrorIllegalAddress) {
      return __LINE__;
    }
  }
  return device.allocate(kPageBytes) == nullptr ? 0 : __LINE__;
}

using CudaDeviceDeathTest = CudaDeviceTest;

TEST_F(CudaDeviceDeathTest, ReportsALostContextAsLostForGood) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        // Leaves by _exit, as the daemon does: no CUDA destructor runs.
        std::fprintf(stderr, "line %d\n", lose_the_context(device()));
        ::_exit(0);
      },
      ::testing::ExitedWithCode(0), "line 0");
}

}  // namespace
}  // namespace overlap::test
