#include "daemon/engine/copy_plan.hpp"

#include "tests/unit/guarded_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

namespace overlap {
namespace {

/// Addresses that nothing reads: a plan is arithmetic.
std::byte* at(std::uint64_t address) { return reinterpret_cast<std::byte*>(address); }

std::byte* const kChannel = at(0x10'0000'0000);
std::byte* const kDevice = at(0x20'0000'0000);

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

/// The plan of jobs of `bytes` at these offsets of the channel, on the device one behind the other.
std::vector<CopyRange> plan_of(const ChunkedRegion& region, std::uint64_t bytes,
                               std::uint64_t device_pitch_bytes,
                               const std::vector<std::uint64_t>& offsets,
                               CopyDirection direction = CopyDirection::in) {
  std::vector<CopyRange> sut;
  std::byte* device = kDevice;
  for (const std::uint64_t offset : offsets) {
    append_copy(sut, direction, region, {kChannel, offset, device, bytes});
    device += device_pitch_bytes;
  }
  return sut;
}

TEST(CopyPlan, AGapOnEitherSideMakesRowsOfNeighbours) {
  const ChunkedRegion region{4096, 65'536, 65'536};
  EXPECT_EQ(plan_of(region, 4096, 4096, {8192, 16'384}),
            (std::vector<CopyRange>{{kDevice, kChannel + 8192, 4096, 2, 4096, 8192}}));
  EXPECT_EQ(plan_of(region, 4096, 8192, {8192, 12'288}),
            (std::vector<CopyRange>{{kDevice, kChannel + 8192, 4096, 2, 8192, 4096}}));
}

TEST(CopyPlan, EvenlySpacedSlotsAreOneCopyBothWays) {
  const ChunkedRegion region{4096, 65'536, 65'536};
  const std::vector<std::uint64_t> offsets = {8192, 12'288, 16'384, 20'480};
  EXPECT_EQ(plan_of(region, 1000, 1024, offsets),
            (std::vector<CopyRange>{{kDevice, kChannel + 8192, 1000, 4, 1024, 4096}}));
  EXPECT_EQ(plan_of(region, 1000, 1024, offsets, CopyDirection::out),
            (std::vector<CopyRange>{{kChannel + 8192, kDevice, 1000, 4, 4096, 1024}}));
}

TEST(CopyPlan, RowsEndWhereTheSpacingOrTheSizeChanges) {
  const ChunkedRegion region{4096, 65'536, 65'536};
  EXPECT_EQ(plan_of(region, 1000, 1024, {4096, 8192, 12'288, 20'480, 24'576}),
            (std::vector<CopyRange>{{kDevice, kChannel + 4096, 1000, 3, 1024, 4096},
                                    {kDevice + 3 * 1024, kChannel + 20'480, 1000, 2, 1024, 4096}}));
  std::vector<CopyRange> sizes;
  append_copy(sizes, CopyDirection::in, region, {kChannel, 4096, kDevice, 1000});
  append_copy(sizes, CopyDirection::in, region, {kChannel, 8192, kDevice + 1024, 1000});
  append_copy(sizes, CopyDirection::in, region, {kChannel, 12'288, kDevice + 2048, 999});
  EXPECT_EQ(sizes, (std::vector<CopyRange>{{kDevice, kChannel + 4096, 1000, 2, 1024, 4096},
                                           {kDevice + 2048, kChannel + 12'288, 999}}));
}

TEST(CopyPlan, RowsStayWithinAChunk) {
  // A chunk holds two slots; the third lies evenly behind them, in the next one.
  const ChunkedRegion region{4096, 65'536, 8192};
  EXPECT_EQ(plan_of(region, 1000, 1024, {4096, 8192, 12'288, 16'384, 20'480}),
            (std::vector<CopyRange>{{kDevice, kChannel + 4096, 1000, 2, 1024, 4096},
                                    {kDevice + 2048, kChannel + 12'288, 1000, 2, 1024, 4096},
                                    {kDevice + 4096, kChannel + 20'480, 1000}}));
}

TEST(CopyPlan, RowsLieNoFartherApartThanACopyTakes) {
  const ChunkedRegion region{4096, std::uint64_t{1} << 34U, std::uint64_t{1} << 34U};
  const std::uint64_t apart = kMaxPitchBytes + 1;
  EXPECT_EQ(plan_of(region, 1000, 1024, {4096, 4096 + kMaxPitchBytes}).size(), 1U);
  EXPECT_EQ(plan_of(region, 1000, 1024, {4096, 4096 + apart}).size(), 2U);
}

TEST(CopyPlan, OverlappingRowsOfRepeatedSlotsAreNotMade) {
  // The same slot twice, as no batch has it: still two copies, of one place.
  const ChunkedRegion region{4096, 65'536, 65'536};
  EXPECT_EQ(plan_of(region, 1000, 1024, {4096, 4096}).size(), 2U);
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
    ASSERT_EQ(piece.rows, 1U);
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

/// Jobs of random sizes in random slots: planned, copied one by one, and every byte looked at.
void expect_every_byte(std::mt19937& random, CopyDirection direction) {
  const auto between = [&](std::uint64_t least, std::uint64_t most) {
    return least + random() % (most - least + 1);
  };
  const std::uint64_t slot_count = between(1, 12);
  const std::uint64_t stride = 256 * between(1, 40);
  const std::uint64_t region_offset = 4096 * between(0, 2);
  const std::uint64_t region_bytes = (slot_count * stride + 4095) / 4096 * 4096;
  const ChunkedRegion region{region_offset, region_bytes, 4096 * between(1, 8)};
  const std::uint64_t device_pitch = stride + 256 * between(0, 1);
  const GuardedMemory channel(region_offset + region_bytes);
  const GuardedMemory device((slot_count * device_pitch + 4095) / 4096 * 4096);
  const bool in = direction == CopyDirection::in;
  const auto from = in ? channel.bytes() : device.bytes();
  const auto to = in ? device.bytes() : channel.bytes();
  std::ranges::generate(from, [&] { return static_cast<std::byte>(random()); });
  std::ranges::fill(to, std::byte{0x5a});
  std::vector<std::byte> expected(to.begin(), to.end());

  std::vector<std::uint64_t> slots;
  for (std::uint64_t slot = 0; slot < slot_count; ++slot) {
    if (random() % 4 != 0) {
      slots.push_back(slot);
    }
  }
  if (random() % 4 == 0) {
    std::ranges::shuffle(slots, random);
  }
  const std::uint64_t usual = between(1, stride);
  std::vector<CopyRange> sut;
  std::uint64_t at = 0;
  for (const std::uint64_t slot : slots) {
    const std::uint64_t bytes = random() % 5 == 0 ? between(1, stride) : usual;
    const std::uint64_t offset = region_offset + slot * stride;
    append_copy(sut, direction, region,
                {channel.bytes().data(), offset, device.bytes().data() + at, bytes});
    const std::uint64_t source = in ? offset : at;
    const std::uint64_t target = in ? at : offset;
    std::ranges::copy(from.subspan(source, bytes),
                      expected.begin() + static_cast<std::ptrdiff_t>(target));
    at += device_pitch;
  }
  for (const CopyRange& range : sut) {
    const std::uint64_t pitch = in ? range.source_pitch_bytes : range.destination_pitch_bytes;
    const auto begin = static_cast<std::uint64_t>((in ? range.source : range.destination) -
                                                  channel.bytes().data() -
                                                  static_cast<std::ptrdiff_t>(region_offset));
    ASSERT_EQ(begin / region.chunk_bytes,
              (begin + (range.rows - 1) * pitch + range.bytes - 1) / region.chunk_bytes)
        << "crosses a border";
    copy_now(range);
  }
  ASSERT_TRUE(std::ranges::equal(to, expected));
}

TEST(CopyPlan, CarriesEveryByteOfAnyJobs) {
  std::mt19937 random(4);
  for (int i = 0; i < 2000; ++i) {
    SCOPED_TRACE(i);
    ASSERT_NO_FATAL_FAILURE(
        expect_every_byte(random, i % 2 == 0 ? CopyDirection::in : CopyDirection::out));
  }
}

TEST(CopyPlan, RowsOfTwoChannelsAreNotJoined) {
  for (const std::int64_t apart : {-65'536, 65'536}) {
    const ChunkedRegion region{4096, 4096, 4096};
    std::vector<CopyRange> sut;
    append_copy(sut, CopyDirection::in, region, {kChannel, 4096, kDevice, 1000});
    append_copy(sut, CopyDirection::in, region, {kChannel + apart, 4096, kDevice + 1024, 1000});
    EXPECT_EQ(sut.size(), 2U) << apart;
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
    copy_now(range);
  }
  EXPECT_EQ(std::memcmp(device.bytes().data(), channel.bytes().data() + 4096, kSlots * kStride), 0);
}

}  // namespace
}  // namespace overlap
