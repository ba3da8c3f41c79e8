#include "shared/channel_view.hpp"

#include "tests/unit/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <set>
#include <span>
#include <variant>

namespace overlap {
namespace {

ChannelGeometry geometry_of(const GeometryRequest& request) {
  return std::get<ChannelGeometry>(
      plan_geometry(request, {kMaxSlotCount, 1U << 20U, 1U << 20U, 1U << 24U}));
}

/// A channel in guarded memory: 3 slots of 5,000 bytes in, 100 bytes out, and a table.
class ChannelViewTest : public ::testing::Test {
 protected:
  static constexpr std::uint64_t kFeatures = 0x8000'0000'0000'0001ULL;

  template <class T>
  [[nodiscard]] T raw(std::size_t offset_bytes) const {
    T value{};
    std::memcpy(&value, memory.bytes().data() + offset_bytes, sizeof value);
    return value;
  }
  [[nodiscard]] std::ptrdiff_t offset_of(const void* place) const {
    return static_cast<const std::byte*>(place) - memory.bytes().data();
  }

  ChannelGeometry geometry = geometry_of({3, 5000, 100, 70});
  GuardedMemory memory{geometry.total_bytes};
  ChannelView sut{memory.bytes(), geometry};
};

TEST_F(ChannelViewTest, IsNotPublishedInZeroedMemory) { EXPECT_FALSE(is_published(sut)); }

TEST_F(ChannelViewTest, IsPublishedOnceWritten) {
  write_channel(sut, kFeatures);
  EXPECT_TRUE(is_published(sut));
}

TEST_F(ChannelViewTest, WritesEveryNumberOfTheHeader) {
  write_channel(sut, kFeatures);
  EXPECT_EQ(std::memcmp(memory.bytes().data(), "OVERLAP1", 8), 0);
  EXPECT_EQ(raw<std::uint32_t>(8), 136U);
  EXPECT_EQ(raw<std::uint32_t>(12), 0x00010000U);
  EXPECT_EQ(raw<std::uint32_t>(16), 3U);
  EXPECT_EQ(raw<std::uint32_t>(20), 8U);
  EXPECT_EQ(raw<std::uint32_t>(24), sizeof(boost::interprocess::interprocess_semaphore));
  EXPECT_EQ(raw<std::uint32_t>(28), 0U);
  EXPECT_EQ(raw<std::uint64_t>(32), kFeatures);
  EXPECT_EQ(raw<std::uint64_t>(40), 45056U);
  EXPECT_EQ(raw<std::uint64_t>(48), 5000U);
  EXPECT_EQ(raw<std::uint64_t>(56), 8192U);
  EXPECT_EQ(raw<std::uint64_t>(64), 100U);
  EXPECT_EQ(raw<std::uint64_t>(72), 256U);
  EXPECT_EQ(raw<std::uint64_t>(80), 70U);
  EXPECT_EQ(raw<std::uint64_t>(88), 8192U);
  EXPECT_EQ(raw<std::uint64_t>(96), 8704U);
  EXPECT_EQ(raw<std::uint64_t>(104), 9216U);
  EXPECT_EQ(raw<std::uint64_t>(112), 12288U);
  EXPECT_EQ(raw<std::uint64_t>(120), 36864U);
  EXPECT_EQ(raw<std::uint64_t>(128), 40960U);
}

TEST_F(ChannelViewTest, BeginsWithADaemonThatMustBeRungAndNothingElse) {
  write_channel(sut, 0);
  EXPECT_EQ(sut.daemon_words().asleep.load(), 1U);
  EXPECT_EQ(sut.daemon_words().submission_head.load(), 0U);
  EXPECT_EQ(sut.daemon_words().completion_tail.load(), 0U);
  EXPECT_EQ(sut.producer_words().submission_tail.load(), 0U);
  EXPECT_EQ(sut.producer_words().completion_head.load(), 0U);
  EXPECT_EQ(sut.producer_words().waiting.load(), 0U);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(sut.issued(slot).load(), 0U);
  }
  EXPECT_FALSE(sut.semaphore().try_wait());
  sut.semaphore().post();
  EXPECT_TRUE(sut.semaphore().try_wait());
}

TEST_F(ChannelViewTest, IsNotPublishedWithAnyWrongByteInTheHeader) {
  write_channel(sut, 0);
  const auto header = memory.bytes().first(sizeof(ChannelHeader));
  for (std::size_t i = 0; i < header.size(); ++i) {
    // Features are what the reply said, and what is reserved may get a meaning in a later minor.
    const bool free =
        i >= offsetof(ChannelHeader, reserved_0) && i < offsetof(ChannelHeader, total_bytes);
    for (unsigned flip = 1; flip < 256; ++flip) {
      header[i] ^= static_cast<std::byte>(flip);
      ASSERT_EQ(is_published(sut), free) << "byte " << i << " xor " << flip;
      header[i] ^= static_cast<std::byte>(flip);
    }
  }
  EXPECT_TRUE(is_published(sut));
}

TEST_F(ChannelViewTest, IsNotPublishedForAnotherGeometry) {
  write_channel(sut, 0);
  // The same regions; only the sizes within the strides differ.
  const ChannelView other(memory.bytes(), geometry_of({3, 5001, 100, 70}));
  EXPECT_FALSE(is_published(other));
}

TEST_F(ChannelViewTest, FindsEveryPartWhereTheGeometrySays) {
  EXPECT_EQ(offset_of(&sut.header()), 0);
  EXPECT_EQ(offset_of(&sut.producer_words()), 4096);
  EXPECT_EQ(offset_of(&sut.daemon_words()), 4480);
  EXPECT_EQ(offset_of(&sut.semaphore()), 4864);
  EXPECT_EQ(offset_of(sut.submissions()), 8192);
  EXPECT_EQ(offset_of(sut.completions()), 8704);
  EXPECT_EQ(offset_of(&sut.issued(0)), 9216);
  EXPECT_EQ(offset_of(&sut.issued(2)), 9218);
  EXPECT_EQ(offset_of(sut.input(0).data()), 12288);
  EXPECT_EQ(offset_of(sut.input(2).data()), 12288 + 16384);
  EXPECT_EQ(offset_of(sut.output(2).data()), 36864 + 512);
  EXPECT_EQ(offset_of(sut.tables().data()), 40960);
  EXPECT_EQ(sut.input(1).size(), 5000U);
  EXPECT_EQ(sut.output(1).size(), 100U);
  EXPECT_EQ(sut.tables().size(), 70U);
}

TEST_F(ChannelViewTest, GivesEveryWriterCacheLinesOfItsOwn) {
  const std::set<std::ptrdiff_t> lines{
      offset_of(&sut.producer_words().submission_tail) / 128,
      offset_of(&sut.producer_words().completion_head) / 128,
      offset_of(&sut.producer_words().waiting) / 128,
      offset_of(&sut.daemon_words().submission_head) / 128,
      offset_of(&sut.daemon_words().completion_tail) / 128,
      offset_of(&sut.daemon_words().asleep) / 128,
      offset_of(&sut.semaphore()) / 128,
      offset_of(sut.submissions()) / 128,
      offset_of(sut.completions()) / 128,
      offset_of(&sut.issued(0)) / 128,
  };
  EXPECT_EQ(lines.size(), 10U);
}

TEST_F(ChannelViewTest, StaysInsideTheInputsWhileItFillsEveryInput) {
  memory.allow_only(geometry.inputs_offset_bytes, 3 * geometry.input_stride_bytes);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    std::ranges::fill(sut.input(slot), static_cast<std::byte>(slot + 1));
  }
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    const auto area = sut.input(slot);
    EXPECT_EQ(std::ranges::count(area, static_cast<std::byte>(slot + 1)), 5000);
  }
}

TEST_F(ChannelViewTest, StaysInsideTheOutputsWhileItFillsEveryOutput) {
  memory.allow_only(geometry.outputs_offset_bytes, 3 * geometry.output_stride_bytes);
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    std::ranges::fill(sut.output(slot), static_cast<std::byte>(slot + 1));
  }
  for (std::uint32_t slot = 0; slot < 3; ++slot) {
    const auto area = sut.output(slot);
    EXPECT_EQ(std::ranges::count(area, static_cast<std::byte>(slot + 1)), 100);
  }
}

TEST_F(ChannelViewTest, StaysInsideTheControlRegionWhileItIsWritten) {
  memory.allow_only(0, geometry.inputs_offset_bytes);
  write_channel(sut, 0);
  std::memset(static_cast<void*>(sut.submissions()), 0x5a, geometry.ring_capacity * 64);
  std::memset(static_cast<void*>(sut.completions()), 0xa5, geometry.ring_capacity * 64);
  EXPECT_TRUE(is_published(sut));
  EXPECT_EQ(sut.submissions()[geometry.ring_capacity - 1].slot, 0x5a5a5a5aU);
  EXPECT_EQ(sut.issued(0).load(), 0U);
  EXPECT_EQ(sut.daemon_words().asleep.load(), 1U);
}

TEST_F(ChannelViewTest, FillsTheLastByteOfTheTables) {
  memory.allow_only(geometry.tables_offset_bytes, geometry.table_bytes);
  std::ranges::fill(sut.tables(), std::byte{7});
  EXPECT_EQ(sut.tables().back(), std::byte{7});
}

TEST_F(ChannelViewTest, NeverFollowsAHeaderThatAProducerRewrote) {
  write_channel(sut, 0);
  std::ranges::fill(memory.bytes().first(kPageBytes), std::byte{0xff});
  EXPECT_EQ(sut.geometry(), geometry);
  EXPECT_EQ(offset_of(sut.input(2).data()), 12288 + 16384);
  EXPECT_EQ(sut.output(2).size(), 100U);
  EXPECT_EQ(offset_of(sut.completions()), 8704);
}

TEST(GuardedMemoryDeathTest, FaultsOneByteBeyondEitherEndAndOutsideWhatIsAllowed) {
  GuardedMemory sut(2 * GuardedMemory::kGuardBytes);
  volatile std::byte* const first = sut.bytes().data();
  EXPECT_DEATH(first[-1] = std::byte{1}, "");
  EXPECT_DEATH(first[2 * 4096] = std::byte{1}, "");
  sut.allow_only(4096, 1);
  EXPECT_DEATH(first[4095] = std::byte{1}, "");
  first[4096] = std::byte{1};
  sut.allow_all();
  first[4095] = std::byte{1};
}

}  // namespace
}  // namespace overlap
