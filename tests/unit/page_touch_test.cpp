#include "daemon/control/page_touch.hpp"

#include "shared/channel_layout.hpp"
#include "shared/channel_memory.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstdint>
#include <span>
#include <vector>

namespace overlap {
namespace {

constexpr std::size_t kMiB = 1U << 20U;

/// Pages of the mapping that this process has mapped, as the kernel counts them; also those that it is
/// moving elsewhere at this moment.
std::size_t mapped_page_count(std::span<std::byte> memory) {
  std::vector<std::uint64_t> entries(memory.size() / kPageBytes);
  const FileDescriptor pagemap(::open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC));
  const auto offset = reinterpret_cast<std::uintptr_t>(memory.data()) / kPageBytes * 8;
  const auto bytes = static_cast<ssize_t>(entries.size() * sizeof entries[0]);
  EXPECT_EQ(::pread(pagemap.get(), entries.data(), static_cast<std::size_t>(bytes),
                    static_cast<off_t>(offset)),
            bytes);
  constexpr std::uint64_t kPresentOrMoving = std::uint64_t{3} << 62U;
  return static_cast<std::size_t>(
      std::count_if(entries.begin(), entries.end(),
                    [](std::uint64_t entry) { return (entry & kPresentOrMoving) != 0; }));
}

class PageTouchTest : public ::testing::TestWithParam<std::size_t> {
 protected:
  PageTouchTest() {
    // Where it is allowed: a machine short of memory does not take touched pages back.
    (void)::mlock2(sut_.data(), sut_.size(), MLOCK_ONFAULT);
  }

  FileDescriptor memory_ = create_channel_memory(GetParam());
  ChannelMapping mapping_{memory_, GetParam(), InheritMapping::no};
  std::span<std::byte> sut_ = mapping_.bytes();
  std::size_t page_count_ = GetParam() / kPageBytes;
};

TEST_P(PageTouchTest, MapsEveryPage) {
  ASSERT_EQ(mapped_page_count(sut_), 0U);
  EXPECT_EQ(touch_pages(sut_, 1, [] { return true; }), 0);
  EXPECT_EQ(mapped_page_count(sut_), page_count_);
}

TEST_P(PageTouchTest, SharesTheWorkAmongThreads) {
  EXPECT_EQ(touch_pages(sut_, 4, [] { return true; }), 0);
  EXPECT_EQ(mapped_page_count(sut_), page_count_);
}

TEST_P(PageTouchTest, MapsEveryPageWithoutTheSystemCallToo) {
  touch_each_page(sut_);
  EXPECT_EQ(mapped_page_count(sut_), page_count_);
}

TEST_P(PageTouchTest, LeavesTheBytesAsTheyAre) {
  const ChannelMapping producer(memory_, GetParam(), InheritMapping::no);
  std::fill(producer.bytes().begin(), producer.bytes().end(), std::byte{0x5a});
  EXPECT_EQ(touch_pages(sut_, 2, [] { return true; }), 0);
  touch_each_page(sut_);
  EXPECT_TRUE(
      std::all_of(sut_.begin(), sut_.end(), [](std::byte b) { return b == std::byte{0x5a}; }));
}

TEST_P(PageTouchTest, TouchesNothingForWhoWantsNothing) {
  EXPECT_EQ(touch_pages(sut_, 2, [] { return false; }), 0);
  EXPECT_EQ(mapped_page_count(sut_), 0U);
}

INSTANTIATE_TEST_SUITE_P(Sizes, PageTouchTest,
                         ::testing::Values(kPageBytes, 16 * kMiB, 16 * kMiB + kPageBytes,
                                           40 * kMiB));

TEST(PageTouch, LeavesOffBetweenTwoPieces) {
  const FileDescriptor memory = create_channel_memory(48 * kMiB);
  const ChannelMapping mapping(memory, 48 * kMiB, InheritMapping::no);
  std::atomic<int> asked{0};
  EXPECT_EQ(touch_pages(mapping.bytes(), 1, [&] { return ++asked <= 2; }), 0);
  EXPECT_EQ(mapped_page_count(mapping.bytes()), 32 * kMiB / kPageBytes);
}

TEST(PageTouch, SaysWhyAPageCannotBeHad) {
  // Beyond the end of its file a mapping has no pages.
  const FileDescriptor memory = create_channel_memory(kPageBytes);
  void* const start =
      ::mmap(nullptr, 2 * kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, memory.get(), 0);
  ASSERT_NE(start, MAP_FAILED);
  EXPECT_EQ(touch_pages({static_cast<std::byte*>(start), 2 * kPageBytes}, 1, [] { return true; }),
            EFAULT);
  ::munmap(start, 2 * kPageBytes);
}

TEST(PageTouch, HasNothingToDoForNoMemory) {
  EXPECT_EQ(touch_pages({}, 4, [] { return true; }), 0);
}

}  // namespace
}  // namespace overlap
