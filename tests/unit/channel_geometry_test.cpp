#include "shared/channel_geometry.hpp"

#include "shared/channel_layout.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace overlap {
namespace {

__extension__ using Wide = unsigned __int128;

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kTop = ~std::uint64_t{0};
constexpr GeometryLimits kNoLimits{~0U, kTop, kTop, kTop};

ChannelGeometry planned(const GeometryRequest& request, const GeometryLimits& limits = kNoLimits) {
  const auto result = plan_geometry(request, limits);
  const auto* refusal = std::get_if<GeometryRefusal>(&result);
  EXPECT_EQ(refusal, nullptr) << refusal->text;
  return refusal == nullptr ? std::get<ChannelGeometry>(result) : ChannelGeometry{};
}

GeometryRefusal refused(const GeometryRequest& request, const GeometryLimits& limits = kNoLimits) {
  const auto result = plan_geometry(request, limits);
  EXPECT_TRUE(std::holds_alternative<GeometryRefusal>(result)) << "was accepted";
  const auto* refusal = std::get_if<GeometryRefusal>(&result);
  return refusal != nullptr ? *refusal : GeometryRefusal{};
}

void expect_says(const GeometryRefusal& sut, const std::string& field,
                 const std::vector<std::string>& words) {
  EXPECT_EQ(sut.field, field);
  EXPECT_NE(sut.text.find(field), std::string::npos) << sut.text;
  for (const std::string& word : words) {
    EXPECT_NE(sut.text.find(word), std::string::npos) << "no '" << word << "' in: " << sut.text;
  }
}

TEST(ChannelGeometry, LaysOutOneSmallestSlot) {
  const ChannelGeometry sut = planned({1, 1, 1, 0});
  EXPECT_EQ(sut.slot_count, 1U);
  EXPECT_EQ(sut.ring_capacity, 2U);
  EXPECT_EQ(sut.input_bytes, 1U);
  EXPECT_EQ(sut.output_bytes, 1U);
  EXPECT_EQ(sut.table_bytes, 0U);
  EXPECT_EQ(sut.input_stride_bytes, 256U);
  EXPECT_EQ(sut.output_stride_bytes, 256U);
  EXPECT_EQ(sut.submissions_offset_bytes, 8192U);
  EXPECT_EQ(sut.completions_offset_bytes, 8192U + 128U);
  EXPECT_EQ(sut.issued_offset_bytes, 8192U + 256U);
  EXPECT_EQ(sut.inputs_offset_bytes, 12288U);
  EXPECT_EQ(sut.outputs_offset_bytes, 16384U);
  EXPECT_EQ(sut.tables_offset_bytes, 20480U);
  EXPECT_EQ(sut.total_bytes, 20480U);
}

TEST(ChannelGeometry, LaysOutManySlotsWithTables) {
  const ChannelGeometry sut = planned({3, 5000, 100, 1});
  EXPECT_EQ(sut.ring_capacity, 8U);
  EXPECT_EQ(sut.input_stride_bytes, 8192U);
  EXPECT_EQ(sut.output_stride_bytes, 256U);
  EXPECT_EQ(sut.completions_offset_bytes, 8704U);
  EXPECT_EQ(sut.issued_offset_bytes, 9216U);
  EXPECT_EQ(sut.inputs_offset_bytes, 12288U);
  EXPECT_EQ(sut.outputs_offset_bytes, 36864U);
  EXPECT_EQ(sut.tables_offset_bytes, 40960U);
  EXPECT_EQ(sut.total_bytes, 45056U);
  EXPECT_EQ(sut.input_offset_bytes(2), 12288U + 16384U);
  EXPECT_EQ(sut.output_offset_bytes(2), 36864U + 512U);
}

TEST(ChannelGeometry, LaysOutTheMostSlots) {
  const ChannelGeometry sut = planned({kMaxSlotCount, 16 * 1024 * 1024, kPage, 0});
  EXPECT_EQ(sut.ring_capacity, 2097152U);
  EXPECT_EQ(sut.completions_offset_bytes, 8192U + 134217728U);
  EXPECT_EQ(sut.issued_offset_bytes, 8192U + 268435456U);
  EXPECT_EQ(sut.inputs_offset_bytes, 8192U + 268435456U + 1048576U);
  // The last input begins beyond 2^43: a 32-bit product would have wrapped.
  EXPECT_EQ(sut.input_offset_bytes(kMaxSlotCount - 1),
            sut.inputs_offset_bytes + (std::uint64_t{1} << 44U) - 16777216U);
  EXPECT_EQ(sut.outputs_offset_bytes, sut.inputs_offset_bytes + (std::uint64_t{1} << 44U));
}

TEST(ChannelGeometry, RoundsEveryStrideAsTheLayoutSays) {
  for (std::uint64_t bytes = 1; bytes <= 4097; ++bytes) {
    const std::uint64_t multiple = bytes < kPage ? kSmallStrideBytes : kPage;
    const std::uint64_t sut = stride_for(bytes);
    EXPECT_EQ(sut % multiple, 0U) << bytes;
    EXPECT_GE(sut, bytes);
    EXPECT_LT(sut - bytes, multiple) << bytes;
  }
  EXPECT_EQ(stride_for(256), 256U);
  EXPECT_EQ(stride_for(257), 512U);
  EXPECT_EQ(stride_for(4095), 4096U);
  EXPECT_EQ(stride_for(4096), 4096U);
  EXPECT_EQ(stride_for(4097), 8192U);
  EXPECT_EQ(stride_for(std::uint64_t{1} << 63U), std::uint64_t{1} << 63U);
}

TEST(ChannelGeometry, KeepsEveryRegionApartAndAligned) {
  for (const std::uint32_t slots : {1U, 2U, 3U, 7U, 64U, 1000U, kMaxSlotCount}) {
    for (const std::uint64_t in : {1U, 255U, 256U, 257U, 4095U, 4096U, 4097U, 1000000U}) {
      for (const std::uint64_t out : {1U, 256U, 4095U, 4096U, 4097U, 65537U}) {
        for (const std::uint64_t tables : {0U, 1U, 4096U, 4097U}) {
          const ChannelGeometry g = planned({slots, in, out, tables});
          // Start and end of each region in the order of the memory.
          const std::array<std::array<std::uint64_t, 2>, 6> regions{{
              {0, kSubmissionsOffsetBytes},
              {g.submissions_offset_bytes, g.submissions_offset_bytes + g.ring_capacity * 64ULL},
              {g.completions_offset_bytes, g.completions_offset_bytes + g.ring_capacity * 64ULL},
              {g.issued_offset_bytes, g.issued_offset_bytes + slots},
              {g.inputs_offset_bytes, g.input_offset_bytes(slots - 1) + g.input_stride_bytes},
              {g.outputs_offset_bytes, g.output_offset_bytes(slots - 1) + g.output_stride_bytes},
          }};
          std::uint64_t end = 0;
          for (const auto& [first, last] : regions) {
            ASSERT_GE(first, end) << slots << " slots of " << in << " and " << out;
            end = last;
          }
          ASSERT_GE(g.tables_offset_bytes, end);
          ASSERT_GE(g.total_bytes, g.tables_offset_bytes + tables);
          ASSERT_LT(g.total_bytes - (g.tables_offset_bytes + tables), kPage);
          ASSERT_GE(g.ring_capacity, 2 * slots);
          ASSERT_LT(g.ring_capacity, 4 * slots);
          ASSERT_EQ(g.ring_capacity & (g.ring_capacity - 1), 0U);
          ASSERT_EQ(g.issued_offset_bytes % kSeparationBytes, 0U);
          for (const std::uint64_t page : {g.inputs_offset_bytes, g.outputs_offset_bytes,
                                           g.tables_offset_bytes, g.total_bytes}) {
            ASSERT_EQ(page % kPage, 0U);
          }
        }
      }
    }
  }
}

/// The bytes that a channel needs, in numbers that cannot overflow.
Wide needed_bytes(std::uint32_t slots, Wide in, Wide out, Wide tables) {
  const auto up = [](Wide value, Wide to) { return (value + to - 1) / to * to; };
  const auto stride = [&](Wide bytes) { return up(bytes, bytes < kPage ? 256 : kPage); };
  Wide capacity = 1;
  while (capacity < Wide{slots} * 2) {
    capacity *= 2;
  }
  const Wide control = up(8192 + capacity * 128 + slots, kPage);
  return control + up(slots * stride(in), kPage) + up(slots * stride(out), kPage) +
         up(tables, kPage);
}

/// Sizes around every border where a sum or a product might wrap; `cap` is the channel's limit.
std::vector<std::uint64_t> border_sizes(std::uint64_t cap) {
  constexpr std::uint64_t k1 = 1;
  return {0,
          1,
          kPage - 1,
          kPage,
          cap - 1,
          cap,
          cap + 1,
          (k1 << 31U) - 1,
          k1 << 31U,
          (k1 << 32U) - 1,
          k1 << 32U,
          k1 << 61U,
          (k1 << 62U) - 1,
          k1 << 62U,
          (k1 << 62U) + 1,
          k1 << 63U,
          (k1 << 63U) - 1,
          kTop - 31,
          kTop};
}

TEST(ChannelGeometry, AcceptsExactlyWhatFitsWhateverTheNumbers) {
  constexpr std::uint64_t kCap = 64ULL * 1024 * 1024;
  constexpr std::uint64_t kLargest = std::uint64_t{1} << 62U;
  int accepted = 0;
  for (const std::uint64_t limit : {kCap, kTop}) {
    const GeometryLimits limits{~0U, kTop, kTop, limit};
    for (const std::uint32_t slots :
         {0U, 1U, 3U, kMaxSlotCount, kMaxSlotCount + 1, 1U << 31U, ~0U}) {
      for (const std::uint64_t in : border_sizes(kCap)) {
        for (const std::uint64_t out : border_sizes(kCap)) {
          for (const std::uint64_t tables : {std::uint64_t{0}, kPage + 1, kLargest, kTop}) {
            const bool fits = slots != 0 && slots <= kMaxSlotCount && in != 0 && out != 0 &&
                              needed_bytes(slots, in, out, tables) <= std::min(limit, kLargest);
            const auto sut = plan_geometry({slots, in, out, tables}, limits);
            ASSERT_EQ(std::holds_alternative<ChannelGeometry>(sut), fits)
                << slots << " slots of " << in << " and " << out << ", tables " << tables;
            if (fits) {
              ++accepted;
              ASSERT_EQ(std::get<ChannelGeometry>(sut).total_bytes,
                        static_cast<std::uint64_t>(needed_bytes(slots, in, out, tables)));
            } else {
              ASSERT_FALSE(std::get<GeometryRefusal>(sut).field.empty());
            }
          }
        }
      }
    }
  }
  EXPECT_GT(accepted, 100);
}

TEST(ChannelGeometry, RefusesZeroOfAnythingButTables) {
  expect_says(refused({0, 1, 1, 0}), "slots", {"0", "at least one"});
  expect_says(refused({1, 0, 1, 0}), "input bytes", {"0", "at least one"});
  expect_says(refused({1, 1, 0, 0}), "output bytes", {"0", "at least one"});
  EXPECT_EQ(planned({1, 1, 1, 0}).table_bytes, 0U);
}

TEST(ChannelGeometry, HoldsEveryFieldAgainstItsOwnLimit) {
  const GeometryLimits limits{8, 10000, 300, 200000};
  EXPECT_EQ(planned({8, 10000, 1, 300}, limits).slot_count, 8U);
  EXPECT_EQ(planned({1, 1, 10000, 300}, limits).output_bytes, 10000U);
  expect_says(refused({9, 1, 1, 0}, limits), "slots", {"9", "limit is 8"});
  expect_says(refused({1, 10001, 1, 0}, limits), "input bytes", {"10001", "limit is 10000"});
  expect_says(refused({1, 1, 10001, 0}, limits), "output bytes", {"10001", "limit is 10000"});
  expect_says(refused({1, 1, 1, 301}, limits), "table bytes", {"301", "limit is 300"});
  // 12 KiB of control, 8 × 12 KiB in and 8 × 12 KiB out.
  expect_says(refused({8, 10000, 10000, 0}, limits), "channel bytes",
              {"204KiB", "limit is 200000"});
  EXPECT_EQ(planned({8, 10000, 10000, 0}, {8, 10000, 0, 208896}).total_bytes, 208896U);
  expect_says(refused({8, 10000, 10000, 0}, {8, 10000, 0, 208895}), "channel bytes", {"204KiB"});
}

TEST(ChannelGeometry, HasALargestSlotCountOfItsOwn) {
  expect_says(refused({kMaxSlotCount + 1, 1, 1, 0}), "slots", {"1048577", "limit is 1048576"});
  expect_says(refused({~0U, 1, 1, 0}), "slots", {"4294967295", "limit is 1048576"});
}

TEST(ChannelGeometry, NamesEveryNumberThatTogetherDoesNotFit) {
  expect_says(refused({3, kTop, 5, 7}), "channel bytes",
              {"3 slots", "18446744073709551615", "5", "7"});
  expect_says(refused({kMaxSlotCount, std::uint64_t{1} << 62U, 1, 0}), "channel bytes",
              {"1048576 slots", "4294967296GiB"});
}

}  // namespace
}  // namespace overlap
