#include "daemon/engine/copy_plan.hpp"

#include "tests/unit/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <cstring>
#include <vector>

namespace overlap {
namespace {

/// Addresses that nothing reads: a plan is arithmetic.
std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

std::byte* const kChannel = at(0x10'0000'0000);
std::byte* const kDevice = at(0x20'0000'0000);

bool operator==(const CopyRange& a, const CopyRange& b) {
  return a.destination == b.destination && a.source == b.source && a.bytes == b.bytes;
}

TEST(CopyPlan, OfNothingIsNothing) {
  std::vector<CopyRange> sut;
  append_copy(sut, CopyDirection::in, {4096, 4096, 4096}, {kChannel, 4096, kDevice, 0});
  EXPECT_TRUE(sut.empty());
}

TEST(CopyPlan, OfOneByteIsThatByte) {
  std::vector<CopyRange> sut;
  append_copy(sut, CopyDirection::in, {4096, 4096, 4096}, {kChannel, 8191, kDevice, 1});
  ASSERT_EQ(sut.size(), 1U);
  EXPECT_TRUE((sut[0] == CopyRange{kDevice, kChannel + 8191, 1}));
}

TEST(CopyPlan, GoesTheOtherWayOut) {
  std::vector<CopyRange> sut;
  append_copy(sut, CopyDirection::out, {8192, 4096, 4096}, {kChannel, 8192 + 256, kDevice, 100});
  ASSERT_EQ(sut.size(), 1U);
  EXPECT_TRUE((sut[0] == CopyRange{kChannel + 8192 + 256, kDevice, 100}));
}

TEST(CopyPlan, NeighboursAreOneCopy) {
  const ChunkedRegion region{4096, 65'536, 65'536};
  std::vector<CopyRange> sut;
  for (std::uint64_t slot = 1; slot < 5; ++slot) {
    append_copy(sut, CopyDirection::in, region,
                {kChannel, 4096 + slot * 4096, kDevice + slot * 4096, 4096});
  }
  ASSERT_EQ(sut.size(), 1U);
  EXPECT_TRUE((sut[0] == CopyRange{kDevice + 4096, kChannel + 8192, 4 * 4096}));
}

TEST(CopyPlan, AGapOnEitherSideKeepsNeighboursApart) {
  const ChunkedRegion region{4096, 65'536, 65'536};
  std::vector<CopyRange> gap_in_channel;
  append_copy(gap_in_channel, CopyDirection::in, region, {kChannel, 8192, kDevice, 4096});
  append_copy(gap_in_channel, CopyDirection::in, region, {kChannel, 16'384, kDevice + 4096, 4096});
  EXPECT_EQ(gap_in_channel.size(), 2U);
  std::vector<CopyRange> gap_on_device;
  append_copy(gap_on_device, CopyDirection::in, region, {kChannel, 8192, kDevice, 4096});
  append_copy(gap_on_device, CopyDirection::in, region, {kChannel, 12'288, kDevice + 8192, 4096});
  EXPECT_EQ(gap_on_device.size(), 2U);
}

TEST(CopyPlan, NeighboursInTheWrongOrderStayApart) {
  const ChunkedRegion region{4096, 65'536, 65'536};
  std::vector<CopyRange> sut;
  append_copy(sut, CopyDirection::out, region, {kChannel, 12'288, kDevice, 4096});
  append_copy(sut, CopyDirection::out, region, {kChannel, 8192, kDevice + 4096, 4096});
  EXPECT_EQ(sut.size(), 2U);
}

TEST(CopyPlan, NeighboursAreNotJoinedOverABorder) {
  const ChunkedRegion region{4096, 65'536, 8192};
  std::vector<CopyRange> sut;
  for (std::uint64_t slot = 0; slot < 6; ++slot) {
    append_copy(sut, CopyDirection::in, region,
                {kChannel, 4096 + slot * 4096, kDevice + slot * 4096, 4096});
  }
  EXPECT_EQ(sut.size(), 3U);
}

TEST(CopyPlan, TwoChannelsSideBySideAreNotJoined) {
  std::vector<CopyRange> sut;
  append_copy(sut, CopyDirection::in, {4096, 4096, 4096}, {kChannel, 4096, kDevice, 4096});
  // The second one's region begins where the first one's ends.
  append_copy(sut, CopyDirection::in, {4096, 4096, 4096},
              {kChannel + 4096, 4096, kDevice + 4096, 4096});
  EXPECT_EQ(sut.size(), 2U);
}

TEST(CopyPlan, BordersCountFromTheRegionsStart) {
  // 5 pages into the memory, chunks of 2 pages: a border lies after 7 pages, none after 6 or 8.
  const ChunkedRegion region{5 * 4096, 8 * 4096, 2 * 4096};
  std::vector<CopyRange> sut;
  append_copy(sut, CopyDirection::in, region, {kChannel, 6 * 4096, kDevice, 2 * 4096});
  ASSERT_EQ(sut.size(), 2U);
  EXPECT_TRUE((sut[0] == CopyRange{kDevice, kChannel + 6 * 4096, 4096}));
  EXPECT_TRUE((sut[1] == CopyRange{kDevice + 4096, kChannel + 7 * 4096, 4096}));
}

/// The request and its pieces, whatever the direction.
void expect_exact(const ChunkedRegion& region, std::uint64_t offset, std::uint64_t bytes,
                  CopyDirection direction) {
  SCOPED_TRACE(::testing::Message()
               << "region at " << region.offset_bytes << ", chunks of " << region.chunk_bytes
               << ", " << bytes << " bytes at " << offset);
  std::vector<CopyRange> sut;
  append_copy(sut, direction, region, {kChannel, region.offset_bytes + offset, kDevice, bytes});
  std::uint64_t done = 0;
  for (const CopyRange& piece : sut) {
    const bool in = direction == CopyDirection::in;
    ASSERT_GT(piece.bytes, 0U);
    ASSERT_EQ(in ? piece.source : piece.destination,
              kChannel + region.offset_bytes + offset + done);
    ASSERT_EQ(in ? piece.destination : piece.source, kDevice + done);
    const std::uint64_t first = offset + done;
    ASSERT_EQ(first / region.chunk_bytes, (first + piece.bytes - 1) / region.chunk_bytes)
        << "crosses a border";
    done += piece.bytes;
  }
  ASSERT_EQ(done, bytes);
  // And into no more pieces than there are chunks.
  const std::uint64_t chunks =
      bytes == 0 ? 0 : (offset + bytes - 1) / region.chunk_bytes - offset / region.chunk_bytes + 1;
  ASSERT_EQ(sut.size(), chunks);
}

TEST(CopyPlan, AddsUpToTheRequestAndCrossesNoBorder) {
  for (const std::uint64_t region_offset : {0U, 4096U, 12'288U}) {
    for (const std::uint64_t chunk : {4096U, 12'288U, 65'536U}) {
      for (const std::uint64_t offset :
           {0U, 1U, 255U, 768U, 4095U, 4096U, 4097U, 12'287U, 65'280U}) {
        for (const std::uint64_t bytes :
             {0U, 1U, 256U, 4095U, 4096U, 4097U, 12'289U, 65'536U, 200'000U}) {
          const ChunkedRegion region{region_offset, 1U << 20U, chunk};
          expect_exact(region, offset, bytes, CopyDirection::in);
          expect_exact(region, offset, bytes, CopyDirection::out);
        }
      }
    }
  }
}

TEST(CopyPlan, CopiesLandAtTheRightByteAndNowhereElse) {
  // The last slot ends at the end of the memory, and the base is not at offset 0 of anything.
  constexpr std::uint64_t kStride = 768;
  constexpr std::uint64_t kSlots = 16;
  const GuardedMemory channel(4 * 4096);
  const GuardedMemory device(3 * 4096);
  const ChunkedRegion region{4096, 3 * 4096, 4096};
  for (std::uint64_t i = 0; i < kSlots * kStride; ++i) {
    channel.bytes()[4096 + i] = static_cast<std::byte>(i % 251);
  }
  std::vector<CopyRange> sut;
  for (std::uint64_t slot = 0; slot < kSlots; ++slot) {
    append_copy(sut, CopyDirection::in, region,
                {channel.bytes().data(), 4096 + slot * kStride,
                 device.bytes().data() + slot * kStride, kStride});
  }
  EXPECT_EQ(sut.size(), 3U);
  for (const CopyRange& range : sut) {
    std::memcpy(range.destination, range.source, range.bytes);
  }
  EXPECT_EQ(std::memcmp(device.bytes().data(), channel.bytes().data() + 4096, kSlots * kStride), 0);
}

}  // namespace
}  // namespace overlap
