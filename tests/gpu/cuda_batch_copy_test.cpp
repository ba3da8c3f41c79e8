#include "daemon/device/cuda_batch_copy.hpp"

#include "daemon/device/cuda_handles.hpp"
#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <cuda_runtime_api.h>
#include <algorithm>
#include <random>
#include <vector>

namespace overlap::test {
namespace {

constexpr std::size_t kBytes = std::size_t{1} << 20U;
constexpr std::byte kUntouched{0xc5};

/// Two pinned areas and one of the device between them.
class CudaBatchCopyTest : public CudaFixture {
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
    stream_ = std::make_unique<CudaStream>();
    std::mt19937 random(1);
    std::ranges::generate(source_->span(), [&] { return static_cast<std::byte>(random()); });
    std::ranges::fill(target_->span(), kUntouched);
  }
  void TearDown() override {
    // Before the device goes.
    stream_.reset();
    between_.reset();
    target_.reset();
    source_.reset();
  }

  struct Piece {
    std::size_t from;
    std::size_t bytes;
    std::size_t to;
  };

  /// Sends pieces of the source to the device, close together, and from there to their places.
  [[nodiscard]] bool carries(const std::vector<Piece>& pieces) {
    std::vector<CopyRange> in;
    std::vector<CopyRange> out;
    std::byte* at = between_.data();
    for (const Piece& piece : pieces) {
      in.push_back({at, source_->data() + piece.from, piece.bytes});
      out.push_back({target_->data() + piece.to, at, piece.bytes});
      at += piece.bytes;
    }
    return sut_.enqueue(in, cudaMemcpyHostToDevice, stream_->get()) == cudaSuccess &&
           sut_.enqueue(out, cudaMemcpyDeviceToHost, stream_->get()) == cudaSuccess &&
           cudaStreamSynchronize(stream_->get()) == cudaSuccess;
  }

  /// Whether every piece is in its place and no other byte was written.
  void expect_carried(const std::vector<Piece>& pieces) const {
    std::vector<std::byte> expected(kBytes, kUntouched);
    for (const Piece& piece : pieces) {
      std::copy_n(source_->data() + piece.from, piece.bytes,
                  expected.begin() + static_cast<std::ptrdiff_t>(piece.to));
    }
    EXPECT_TRUE(std::ranges::equal(expected, target_->span()));
  }

  CudaBatchCopy sut_;
  std::unique_ptr<PinnedPages> source_;
  std::unique_ptr<PinnedPages> target_;
  DeviceMemory between_;
  std::unique_ptr<CudaStream> stream_;
};

TEST_F(CudaBatchCopyTest, CopiesNothing) {
  EXPECT_TRUE(carries({}));
  expect_carried({});
}

TEST_F(CudaBatchCopyTest, CopiesOneRange) {
  const std::vector<Piece> pieces = {{.from = 100, .bytes = 5001, .to = 77}};
  ASSERT_TRUE(carries(pieces));
  expect_carried(pieces);
}

TEST_F(CudaBatchCopyTest, CopiesManyRangesOfAnySizeBothWays) {
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

TEST_F(CudaBatchCopyTest, LeavesEmptyRangesOut) {
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

TEST_F(CudaBatchCopyTest, CopiesEveryRangeWithinAPinnedRangeOfItsOwn) {
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
  ASSERT_EQ(sut_.enqueue(in, cudaMemcpyHostToDevice, stream_->get()), cudaSuccess);
  ASSERT_EQ(sut_.enqueue(out, cudaMemcpyDeviceToHost, stream_->get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  for (std::size_t i = 0; i < kPages; ++i) {
    EXPECT_TRUE(
        std::ranges::equal(pages[i]->span(), target_->span().subspan(i * kPageBytes, kPageBytes)))
        << "page " << i;
  }
}

TEST_F(CudaBatchCopyTest, IsUsedAnewForOtherRangesWithoutWaiting) {
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
    ASSERT_EQ(sut_.enqueue(in, cudaMemcpyHostToDevice, stream_->get()), cudaSuccess);
    ASSERT_EQ(sut_.enqueue(out, cudaMemcpyDeviceToHost, stream_->get()), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  expect_carried(all);
}

TEST_F(CudaBatchCopyTest, IsOneCallWhereToolkitAndDriverKnowIt) {
  int driver_version = 0;
  ASSERT_EQ(cudaDriverGetVersion(&driver_version), cudaSuccess);
  EXPECT_EQ(sut_.is_batched(), CUDART_VERSION >= 12'080 && driver_version >= 12'080);
}

}  // namespace
}  // namespace overlap::test
