#include "kernels/imaging/resize_position.hpp"
#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string resize(std::size_t width, std::size_t height, std::size_t channels,
                   std::size_t out_width, std::size_t out_height) {
  return "resize:width=" + std::to_string(width) + ",height=" + std::to_string(height) +
         ",channels=" + std::to_string(channels) + ",out_width=" + std::to_string(out_width) +
         ",out_height=" + std::to_string(out_height);
}

Bytes resized(const std::string& text, const Bytes& pixels) {
  return elements_of<std::uint8_t>(reference_of(text, bytes_of(pixels)));
}

void expect_equal(const std::string& text, std::vector<std::vector<std::byte>> inputs) {
  KernelBatch sut(stage_of(text), std::move(inputs));
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8)) << text;
}

TEST(ResizeKernel, EqualsTheReferenceForEverySmallShape) {
  constexpr std::size_t kSides[] = {1, 2, 3, 7, 32};
  for (const std::size_t width : kSides) {
    for (const std::size_t height : kSides) {
      for (const std::size_t out_width : kSides) {
        for (const std::size_t out_height : kSides) {
          for (const std::size_t channels : {1U, 3U, 4U}) {
            expect_equal(resize(width, height, channels, out_width, out_height),
                         {awkward_input(ElementKind::u8, width * height * channels)});
          }
        }
      }
    }
  }
}

TEST(ResizeKernel, EqualsTheReferenceForLongAndLargeFrames) {
  const std::size_t shapes[][4] = {{1, 4097, 3, 511},    {4097, 1, 513, 2},   {640, 480, 320, 240},
                                   {320, 200, 641, 399}, {100, 100, 512, 99}, {2, 2, 1030, 7},
                                   {65'535, 1, 1, 1},    {1, 1, 65'535, 1}};
  for (const auto& [width, height, out_width, out_height] : shapes) {
    for (const std::size_t channels : {1U, 3U, 4U}) {
      expect_equal(resize(width, height, channels, out_width, out_height),
                   {awkward_input(ElementKind::u8, width * height * channels)});
    }
  }
}

TEST(ResizeKernel, WorksOnEveryFrameOfEveryJobByItself) {
  expect_equal(resize(17, 5, 3, 11, 9), {awkward_input(ElementKind::u8, 17 * 5 * 3 * 3, 1),
                                         {},
                                         awkward_input(ElementKind::u8, 17 * 5 * 3, 2)});
}

TEST(ResizeKernel, LeavesAPictureOfTheSameSizeAsItIs) {
  const auto pixels = awkward_input(ElementKind::u8, 33 * 21 * 3);
  EXPECT_EQ(reference_of(resize(33, 21, 3, 33, 21), pixels), pixels);
}

TEST(ResizeKernel, ReferenceTakesTheMeanWhenItHalves) {
  EXPECT_EQ(resized(resize(2, 2, 1, 1, 1), {10, 20, 30, 40}), Bytes{25});
  EXPECT_EQ(resized(resize(4, 1, 1, 2, 1), {10, 20, 30, 41}), (Bytes{15, 36}));
  EXPECT_EQ(resized(resize(2, 2, 3, 1, 1), {0, 10, 255, 0, 20, 255, 0, 30, 255, 0, 40, 255}),
            (Bytes{0, 25, 255}));
}

TEST(ResizeKernel, ReferenceGoesInQuartersWhenItDoubles) {
  // Positions -1/4 (kept at 0), 1/4, 3/4, 5/4 (kept at 1).
  EXPECT_EQ(resized(resize(2, 1, 1, 4, 1), {0, 100}), (Bytes{0, 25, 75, 100}));
  EXPECT_EQ(resized(resize(1, 2, 1, 1, 4), {0, 100}), (Bytes{0, 25, 75, 100}));
}

TEST(ResizeKernel, ReferenceRepeatsASinglePixel) {
  EXPECT_EQ(resized(resize(1, 1, 3, 3, 2), {7, 8, 9}),
            (Bytes{7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9, 7, 8, 9}));
}

TEST(ResizeKernel, NeitherOverflowsNorDarkensWhatIsWhite) {
  EXPECT_EQ(resized(resize(13, 11, 1, 29, 31), Bytes(13 * 11, 255)), Bytes(29 * 31, 255));
  expect_equal(resize(13, 11, 1, 29, 31), {bytes_of(Bytes(13 * 11, 255))});
}

TEST(ResizePosition, StaysWithinTheInputAtTheLargestSizes) {
  for (const std::uint32_t in_size : {1U, 2U, 65'534U, 65'535U}) {
    for (const std::uint32_t out_size : {1U, 2U, 3U, 65'534U, 65'535U}) {
      for (const std::uint32_t at : {0U, out_size / 2, out_size - 1}) {
        const ResizePosition sut = resize_position(at, in_size, out_size);
        EXPECT_LT(sut.second, in_size);
        EXPECT_LE(sut.first, sut.second);
        EXPECT_LT(sut.weight, kResizeOne);
      }
    }
  }
}

TEST(ResizeKernel, KnowsHowMuchItMakes) {
  const Stage sut = stage_of(resize(10, 10, 3, 20, 5));
  EXPECT_EQ(std::get<Plan>(sut.kernel->plan(sut.params, 900)).max_output_bytes, 3U * 20 * 5 * 3);
}

TEST(ResizeKernel, RefusesWhatItCannotDo) {
  EXPECT_EQ(refusal_of(resize(4, 2, 1, 1, 1), 9),
            "9 bytes do not fit resize: it takes whole granules of 8 bytes (one frame of 4 x 2 "
            "pixels of 1 byte), and 1 bytes are left over; send 8 or 16 bytes");
  EXPECT_NE(refusal_of(resize(1, 1, 1, 65'535, 65'535), 1ULL << 40U).find("more than 64 bits"),
            std::string::npos);
  EXPECT_THROW((void)stage_of("resize:out_width=0"), PipelineError);
  EXPECT_THROW((void)stage_of("resize:out_height=65536"), PipelineError);
}

}  // namespace
}  // namespace overlap::test
