#include "daemon/engine/pin_layout.hpp"

#include "shared/channel_layout.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace overlap {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;
constexpr std::uint64_t kChunk = 16 * kMiB;

ChannelGeometry geometry_of(std::uint32_t slot_count, std::uint64_t input_bytes,
                            std::uint64_t output_bytes) {
  return std::get<ChannelGeometry>(
      plan_geometry({slot_count, input_bytes, output_bytes, 0},
                    {kMaxSlotCount, UINT64_MAX, UINT64_MAX, UINT64_MAX}));
}

struct PlannedCase {
  ChannelGeometry geometry;
  std::uint64_t max_chunk_bytes;
  PinLayout layout;
  std::vector<PinRange> ranges;
};

/// Calls `check` for many shapes, none of which is so large that its ranges take long to list.
template <class Check>
void for_each_shape(const Check& check) {
  for (const std::uint32_t slot_count : {1U, 2U, 3U, 70U, 4097U}) {
    for (const std::uint64_t input_bytes : {std::uint64_t{256}, std::uint64_t{768}, 4 * kKiB,
                                            12 * kKiB, kMiB, 16 * kMiB, 24 * kMiB}) {
      for (const std::uint64_t output_bytes : {std::uint64_t{1}, 4 * kKiB, 24 * kMiB}) {
        for (const std::uint64_t max_chunk_bytes : {4 * kKiB, 12 * kKiB, kChunk}) {
          const ChannelGeometry geometry = geometry_of(slot_count, input_bytes, output_bytes);
          if (geometry.total_bytes / max_chunk_bytes > 10'000) {
            continue;
          }
          SCOPED_TRACE(::testing::Message() << slot_count << " slots of " << input_bytes << " and "
                                            << output_bytes << ", chunks of " << max_chunk_bytes);
          const PinLayout layout = plan_pinning(geometry, max_chunk_bytes);
          check(PlannedCase{geometry, max_chunk_bytes, layout, pin_ranges(layout)});
        }
      }
    }
  }
}

TEST(PinLayout, PinsWholePagesAndNoMoreThanAChunkAtOnce) {
  for_each_shape([](const PlannedCase& sut) {
    for (const PinRange& range : sut.ranges) {
      ASSERT_EQ(range.offset_bytes % kPageBytes, 0U);
      ASSERT_EQ(range.bytes % kPageBytes, 0U);
      ASSERT_GT(range.bytes, 0U);
      ASSERT_LE(range.bytes, sut.max_chunk_bytes);
    }
  });
}

TEST(PinLayout, RangesAscendAndAreDisjoint) {
  for_each_shape([](const PlannedCase& sut) {
    std::uint64_t end = 0;
    for (const PinRange& range : sut.ranges) {
      ASSERT_GE(range.offset_bytes, end);
      end = range.offset_bytes + range.bytes;
    }
    ASSERT_LE(end, sut.geometry.total_bytes);
  });
}

TEST(PinLayout, CoversInputsAndOutputsAndNothingOfTheControlRegion) {
  for_each_shape([](const PlannedCase& sut) {
    ASSERT_FALSE(sut.ranges.empty());
    ASSERT_EQ(sut.ranges.front().offset_bytes, sut.geometry.inputs_offset_bytes);
    std::uint64_t pinned_bytes = 0;
    for (const PinRange& range : sut.ranges) {
      pinned_bytes += range.bytes;
    }
    // From the first input to the first table there is no page without a slot.
    ASSERT_EQ(pinned_bytes, sut.geometry.tables_offset_bytes - sut.geometry.inputs_offset_bytes);
    ASSERT_EQ(sut.ranges.back().offset_bytes + sut.ranges.back().bytes,
              sut.geometry.tables_offset_bytes);
  });
}

TEST(PinLayout, BordersAreWhereRangesMeet) {
  for_each_shape([](const PlannedCase& sut) {
    for (const ChunkedRegion* region : {&sut.layout.inputs, &sut.layout.outputs}) {
      for (const PinRange& range : sut.ranges) {
        const bool inside = range.offset_bytes >= region->offset_bytes &&
                            range.offset_bytes < region->offset_bytes + region->bytes;
        if (inside) {
          ASSERT_EQ(region->bytes_to_border(range.offset_bytes), region->chunk_bytes);
          ASSERT_EQ(region->bytes_to_border(range.offset_bytes + region->chunk_bytes - 1), 1U);
          ASSERT_GE(region->chunk_bytes, range.bytes);
        }
      }
    }
  });
}

TEST(PinLayout, AChunkHoldsWholeSlotsThatFillWholePages) {
  const auto chunk = [](std::uint64_t stride_bytes) {
    return plan_pinning(geometry_of(70, stride_bytes, 256), kChunk).inputs.chunk_bytes;
  };
  EXPECT_EQ(chunk(4096), kChunk);
  EXPECT_EQ(chunk(kMiB), kChunk);
  EXPECT_EQ(chunk(16 * kMiB), kChunk);
  EXPECT_EQ(chunk(12 * kKiB), kChunk / (12 * kKiB) * (12 * kKiB));
  EXPECT_EQ(chunk(5 * kMiB), 15 * kMiB);
  EXPECT_EQ(chunk(9 * kMiB), 9 * kMiB);
}

TEST(PinLayout, SmallSlotsMayCrossABorder) {
  EXPECT_EQ(plan_pinning(geometry_of(70, 256, 1), kChunk).inputs.chunk_bytes, kChunk);
  EXPECT_EQ(plan_pinning(geometry_of(70, 768, 1), kChunk).inputs.chunk_bytes, kChunk);
}

TEST(PinLayout, ASlotLargerThanAChunkIsCut) {
  const PinLayout sut = plan_pinning(geometry_of(2, 24 * kMiB, 256), kChunk);
  EXPECT_EQ(sut.inputs.chunk_bytes, kChunk);
  EXPECT_EQ(pin_ranges(sut).size(), 3U + 1U);
}

TEST(PinLayout, OneSmallSlotIsOnePageEachWay) {
  const ChannelGeometry geometry = geometry_of(1, 1, 1);
  EXPECT_EQ(pin_ranges(plan_pinning(geometry, kChunk)),
            (std::vector<PinRange>{{geometry.inputs_offset_bytes, kPageBytes},
                                   {geometry.outputs_offset_bytes, kPageBytes}}));
}

TEST(PinLayout, InputsAndOutputsAreCutEachByItsOwnStride) {
  const PinLayout sut = plan_pinning(geometry_of(4, 5 * kMiB, 6 * kMiB), kChunk);
  EXPECT_EQ(sut.inputs.chunk_bytes, 15 * kMiB);
  EXPECT_EQ(sut.outputs.chunk_bytes, 12 * kMiB);
}

}  // namespace
}  // namespace overlap
