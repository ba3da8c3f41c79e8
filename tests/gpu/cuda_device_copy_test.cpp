// Copies by the copy engines, as the engine's lanes ask for them.

#include "daemon/device/copy_range.hpp"
#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <algorithm>
#include <memory>
#include <random>
#include <vector>

namespace overlap::test {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;
constexpr std::byte kUntouched{0xc5};

/// Two pinned areas and one of the device between them.
class CudaDeviceCopyTest : public CudaFixture {
 protected:
  void SetUp() override {
    CudaFixture::SetUp();
    if (IsSkipped()) {
      return;
    }
    source_ = std::make_unique<PinnedPages>(device(), kBytes);
    target_ = std::make_unique<PinnedPages>(device(), kBytes);
    between_ = DeviceMemory(device(), DeviceMemory::Kind::buffer, kBytes);
    ASSERT_NE(between_.data(), nullptr);
    stream_ = device().create_stream(StreamPriority::normal);
    over_ = device().create_event();
    std::mt19937 random(1);
    std::ranges::generate(source_->span(), [&] { return static_cast<std::byte>(random()); });
    std::ranges::fill(target_->span(), kUntouched);
  }
  void TearDown() override {
    // Before the device goes.
    between_.reset();
    target_.reset();
    source_.reset();
  }

  /// Rows of the source and their places in the target.
  struct Piece {
    std::size_t from;
    std::size_t bytes;
    std::size_t to;
    std::size_t rows = 1;
    std::size_t from_pitch = 0;
    std::size_t to_pitch = 0;
  };

  [[nodiscard]] bool copies(const std::vector<CopyRange>& in, const std::vector<CopyRange>& out) {
    return device().copy_in(stream_, in).ok() && device().copy_out(stream_, out).ok();
  }
  [[nodiscard]] bool comes_to_its_end() {
    return device().record(over_, stream_).ok() &&
           outcome(device(), over_).state == EventState::ready;
  }

  /// Sends pieces of the source to the device, one behind the other, and from there to their places.
  [[nodiscard]] bool carries(const std::vector<Piece>& pieces, std::size_t gap_bytes = 0) {
    std::vector<CopyRange> in;
    std::vector<CopyRange> out;
    std::byte* at = between_.data();
    for (const Piece& piece : pieces) {
      const std::size_t pitch = piece.bytes + gap_bytes;
      in.push_back(
          {at, source_->data() + piece.from, piece.bytes, piece.rows, pitch, piece.from_pitch});
      out.push_back(
          {target_->data() + piece.to, at, piece.bytes, piece.rows, piece.to_pitch, pitch});
      at += piece.rows * pitch;
    }
    return copies(in, out) && comes_to_its_end();
  }

  /// Whether every piece is in its place and no other byte was written.
  void expect_carried(const std::vector<Piece>& pieces) const {
    std::vector<std::byte> expected(kBytes, kUntouched);
    for (const Piece& piece : pieces) {
      for (std::size_t row = 0; row < piece.rows; ++row) {
        std::copy_n(
            source_->data() + piece.from + row * piece.from_pitch, piece.bytes,
            expected.begin() + static_cast<std::ptrdiff_t>(piece.to + row * piece.to_pitch));
      }
    }
    EXPECT_TRUE(std::ranges::equal(expected, target_->span()));
  }

  std::unique_ptr<PinnedPages> source_;
  std::unique_ptr<PinnedPages> target_;
  DeviceMemory between_;
  StreamId stream_{};
  EventId over_{};
};

TEST_F(CudaDeviceCopyTest, CopiesNothing) {
  EXPECT_TRUE(carries({}));
  expect_carried({});
}

TEST_F(CudaDeviceCopyTest, CopiesOneRange) {
  const std::vector<Piece> pieces = {{.from = 100, .bytes = 5001, .to = 77}};
  ASSERT_TRUE(carries(pieces));
  expect_carried(pieces);
}

TEST_F(CudaDeviceCopyTest, CopiesRowsOfAnySizeBothWays) {
  for (const std::size_t bytes : {1U, 3U, 256U, 4095U, 4096U, 60'001U}) {
    for (const std::size_t gap : {0U, 1U, 255U, 4096U}) {
      for (const std::size_t rows : {1U, 2U, 3U, 15U}) {
        SCOPED_TRACE(::testing::Message() << rows << " rows of " << bytes << " and " << gap);
        std::ranges::fill(target_->span(), kUntouched);
        // Other gaps on each of the three sides.
        const std::vector<Piece> pieces = {{.from = 11,
                                            .bytes = bytes,
                                            .to = 5,
                                            .rows = rows,
                                            .from_pitch = bytes + gap,
                                            .to_pitch = bytes + 2 * gap}};
        ASSERT_TRUE(carries(pieces, gap / 2));
        expect_carried(pieces);
      }
    }
  }
}

TEST_F(CudaDeviceCopyTest, CopiesRowsWhoseLastOneEndsWithItsMemory) {
  // A whole pitch for the last row as well would reach beyond the pinned ranges.
  constexpr std::size_t kRows = 4;
  constexpr std::size_t kRowBytes = 1001;
  constexpr std::size_t kPitchBytes = 8192;
  constexpr std::size_t kExtent = (kRows - 1) * kPitchBytes + kRowBytes;
  const std::size_t first = kBytes - kExtent;
  std::byte* const between = between_.data() + first;
  ASSERT_TRUE(
      copies({{between, source_->data() + first, kRowBytes, kRows, kPitchBytes, kPitchBytes}},
             {{target_->data() + first, between, kRowBytes, kRows, kPitchBytes, kPitchBytes}}));
  ASSERT_TRUE(comes_to_its_end());
  expect_carried({{.from = first,
                   .bytes = kRowBytes,
                   .to = first,
                   .rows = kRows,
                   .from_pitch = kPitchBytes,
                   .to_pitch = kPitchBytes}});
}

TEST_F(CudaDeviceCopyTest, CopiesRowsOfMemoryThatIsNotPinned) {
  std::vector<std::byte> pageable(source_->span().begin(), source_->span().end());
  std::vector<std::byte> back(kBytes, kUntouched);
  const std::vector<Piece> pieces = {
      {.from = 7, .bytes = 3001, .to = 7, .rows = 20, .from_pitch = 4096, .to_pitch = 4096}};
  ASSERT_TRUE(copies({{between_.data(), pageable.data() + 7, 3001, 20, 3072, 4096}},
                     {{back.data() + 7, between_.data(), 3001, 20, 4096, 3072}}));
  ASSERT_TRUE(comes_to_its_end());
  std::ranges::copy(back, target_->data());
  expect_carried(pieces);
}

TEST_F(CudaDeviceCopyTest, CopiesManyRangesOfAnySizeBothWays) {
  for (const std::size_t count : {2U, 3U, 100U, 1000U}) {
    std::ranges::fill(target_->span(), kUntouched);
    std::vector<Piece> pieces;
    std::mt19937 random(static_cast<unsigned>(count));
    const std::size_t room = kBytes / count;
    for (std::size_t i = 0; i < count; ++i) {
      // Scattered, and in another order than they came.
      const std::size_t bytes = 1 + random() % (room - 1);
      pieces.push_back({.from = i * room, .bytes = bytes, .to = (count - 1 - i) * room + 1});
    }
    ASSERT_TRUE(carries(pieces)) << count;
    expect_carried(pieces);
  }
}

TEST_F(CudaDeviceCopyTest, LeavesEmptyRangesOut) {
  for (const std::vector<Piece>& pieces : {
           std::vector<Piece>{{0, 0, 0}},
           std::vector<Piece>{{0, 0, 0}, {10, 0, 10}},
           std::vector<Piece>{{0, 0, 0}, {10, 20, 30}},
           std::vector<Piece>{{10, 20, 30}, {0, 0, 0}, {50, 1, 60}, {0, 0, 0}},
       }) {
    std::ranges::fill(target_->span(), kUntouched);
    ASSERT_TRUE(carries(pieces));
    expect_carried(pieces);
  }
  EXPECT_EQ(cudaPeekAtLastError(), cudaSuccess);
}

TEST_F(CudaDeviceCopyTest, CopiesEveryRangeWithinAPinnedRangeOfItsOwn) {
  constexpr std::size_t kPageBytes = 4096;
  constexpr std::size_t kPages = 64;
  // Pinned page by page, as far from each other as the system likes.
  std::vector<std::unique_ptr<PinnedPages>> pages;
  std::vector<CopyRange> in;
  std::vector<CopyRange> out;
  for (std::size_t i = 0; i < kPages; ++i) {
    pages.push_back(std::make_unique<PinnedPages>(device(), kPageBytes));
    std::ranges::fill(pages.back()->span(), static_cast<std::byte>(i));
    in.push_back({between_.data() + i * kPageBytes, pages.back()->data(), kPageBytes});
    out.push_back({target_->data() + i * kPageBytes, between_.data() + i * kPageBytes, kPageBytes});
  }
  ASSERT_TRUE(copies(in, out));
  ASSERT_TRUE(comes_to_its_end());
  for (std::size_t i = 0; i < kPages; ++i) {
    EXPECT_TRUE(
        std::ranges::equal(pages[i]->span(), target_->span().subspan(i * kPageBytes, kPageBytes)))
        << "page " << i;
  }
}

TEST_F(CudaDeviceCopyTest, CopiesOtherRangesWithoutWaitingForTheLast) {
  std::vector<Piece> all;
  for (std::size_t round = 0; round < 50; ++round) {
    const std::size_t start = round * 20'000;
    const std::vector<Piece> pieces = {{start, 5000, start}, {start + 6000, 7001, start + 6000}};
    std::vector<CopyRange> in;
    std::vector<CopyRange> out;
    for (const Piece& piece : pieces) {
      in.push_back({between_.data() + piece.to, source_->data() + piece.from, piece.bytes});
      out.push_back({target_->data() + piece.to, between_.data() + piece.to, piece.bytes});
      all.push_back(piece);
    }
    ASSERT_TRUE(copies(in, out));
  }
  ASSERT_TRUE(comes_to_its_end());
  expect_carried(all);
}

}  // namespace
}  // namespace overlap::test
