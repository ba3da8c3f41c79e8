#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kOutputs[] = {"magnitude", "x", "y"};
constexpr std::string_view kBorders[] = {"reflect101", "reflect", "replicate", "zero"};

std::string sobel(std::size_t width, std::size_t height, std::string_view output = "magnitude",
                  std::string_view border = "reflect101") {
  return "sobel:width=" + std::to_string(width) + ",height=" + std::to_string(height) +
         ",output=" + std::string(output) + ",border=" + std::string(border);
}

Bytes gradient_of(const std::string& text, const Bytes& pixels) {
  return elements_of<std::uint8_t>(reference_of(text, bytes_of(pixels)));
}

TEST(SobelKernel, EqualsTheReferenceForEveryShapeOutputAndBorder) {
  constexpr std::size_t kSides[] = {1, 2, 3, 4, 17, 33};
  for (const std::size_t width : kSides) {
    for (const std::size_t height : kSides) {
      for (const std::string_view output : kOutputs) {
        for (const std::string_view border : kBorders) {
          const std::string text = sobel(width, height, output, border);
          KernelBatch sut(stage_of(text), {awkward_input(ElementKind::u8, width * height)});
          sut.run();
          ASSERT_TRUE(sut.matches_reference(ElementKind::u8)) << text;
        }
      }
    }
  }
}

TEST(SobelKernel, EqualsTheReferenceForLongAndLargeFrames) {
  const std::pair<std::size_t, std::size_t> shapes[] = {{1, 4097}, {4097, 1},  {511, 3},  {512, 3},
                                                        {513, 3},  {1025, 33}, {640, 480}};
  for (const auto& [width, height] : shapes) {
    for (const std::string_view output : kOutputs) {
      const std::string text = sobel(width, height, output);
      KernelBatch sut(stage_of(text), {awkward_input(ElementKind::u8, width * height)});
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::u8)) << text;
    }
  }
}

TEST(SobelKernel, WorksOnEveryFrameOfEveryJobByItself) {
  KernelBatch sut(stage_of(sobel(17, 5)), {awkward_input(ElementKind::u8, 17 * 5 * 3, 1),
                                           {},
                                           awkward_input(ElementKind::u8, 17 * 5, 2)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(SobelKernel, ReferenceSeesNothingInAFlatPicture) {
  EXPECT_EQ(gradient_of(sobel(3, 3), Bytes(9, 200)), Bytes(9, 0));
  EXPECT_EQ(gradient_of(sobel(3, 3, "x"), Bytes(9, 200)), Bytes(9, 128));
  EXPECT_EQ(gradient_of(sobel(3, 3, "y", "replicate"), Bytes(9, 200)), Bytes(9, 128));
}

TEST(SobelKernel, ReferenceIsPositiveTowardsBrightness) {
  // Brighter by 10 a column to the right: gx = 4 * 20, gx / 8 = 10.
  EXPECT_EQ(gradient_of(sobel(3, 3, "x"), {0, 10, 20, 0, 10, 20, 0, 10, 20})[4], 138);
  EXPECT_EQ(gradient_of(sobel(3, 3, "y"), {0, 10, 20, 0, 10, 20, 0, 10, 20})[4], 128);
  EXPECT_EQ(gradient_of(sobel(3, 3, "y"), {0, 0, 0, 10, 10, 10, 20, 20, 20})[4], 138);
  EXPECT_EQ(gradient_of(sobel(3, 3, "x"), {20, 10, 0, 20, 10, 0, 20, 10, 0})[4], 118);
}

TEST(SobelKernel, ReferenceRoundsEighthsHalvesUpAndKeepsToAByte) {
  // gx = 4, -4 and -5: halves go up, to 129 and 128; -5/8 to 127.
  EXPECT_EQ(gradient_of(sobel(3, 3, "x", "replicate"), {0, 0, 0, 0, 0, 2, 0, 0, 0})[4], 129);
  EXPECT_EQ(gradient_of(sobel(3, 3, "x", "replicate"), {0, 0, 0, 2, 0, 0, 0, 0, 0})[4], 128);
  EXPECT_EQ(gradient_of(sobel(3, 3, "x", "replicate"), {1, 0, 0, 2, 0, 0, 0, 0, 0})[4], 127);
  // The steepest: 128 + 127.5 and 128 - 127.5.
  EXPECT_EQ(gradient_of(sobel(3, 1, "x", "replicate"), {0, 0, 255})[1], 255);
  EXPECT_EQ(gradient_of(sobel(3, 1, "x", "replicate"), {255, 0, 0})[1], 1);
}

TEST(SobelKernel, ReferenceGivesTheLengthOfTheGradient) {
  // gx = 30, gy = 40 in the middle: length 50.
  EXPECT_EQ(gradient_of(sobel(3, 3), {0, 0, 0, 0, 0, 15, 0, 20, 0})[4], 50);
  // gx = 2, gy = 2: sqrt(8) = 2.83. gx = 2, gy = 0: 2. A corner: gx = gy = 1, sqrt(2) = 1.41.
  EXPECT_EQ(gradient_of(sobel(3, 3), {0, 0, 0, 0, 0, 1, 0, 1, 0})[4], 3);
  EXPECT_EQ(gradient_of(sobel(3, 3), {0, 0, 0, 0, 0, 1, 0, 0, 0})[4], 2);
  EXPECT_EQ(gradient_of(sobel(3, 3), {0, 0, 0, 0, 0, 0, 0, 0, 1})[4], 1);
  // 2 * 127 = 254; 2 * 128 = 256 is beyond a byte.
  EXPECT_EQ(gradient_of(sobel(3, 3), {0, 0, 0, 0, 0, 127, 0, 0, 0})[4], 254);
  EXPECT_EQ(gradient_of(sobel(3, 3), {0, 0, 0, 0, 0, 128, 0, 0, 0})[4], 255);
}

TEST(SobelKernel, ReferenceSeesAZeroBorderAsAnEdge) {
  EXPECT_EQ(gradient_of(sobel(3, 3, "x", "zero"), Bytes(9, 8)),
            (Bytes{131, 128, 125, 132, 128, 124, 131, 128, 125}));
  EXPECT_EQ(gradient_of(sobel(1, 1, "magnitude", "zero"), {255}), Bytes{0});
}

/// Every pair of gradients that a picture can have, as far as rounding may go wrong.
TEST(SobelKernel, RoundsTheRootOfEverySumOfSquaresAsTheReferenceDoes) {
  // In a row of 3 x 3 neighbourhoods the middle has gx = 2 * right, gy = 2 * below.
  std::vector<std::byte> pictures;
  for (int right = 0; right < 130; ++right) {
    for (int below = 0; below <= right; ++below) {
      for (const int sample : {0, 0, 0, 0, 0, right, 0, below, (right + below) % 2}) {
        pictures.push_back(static_cast<std::byte>(sample));
      }
    }
  }
  KernelBatch sut(stage_of(sobel(3, 3, "magnitude", "zero")), {pictures});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(SobelKernel, RefusesColoursWithAWordAboutGrayscale) {
  try {
    (void)stage_of("sobel:channels=3");
    FAIL() << "it took three channels";
  } catch (const PipelineError& error) {
    EXPECT_NE(std::string(error.what()).find("put grayscale before it: grayscale:channels=3|sobel"),
              std::string::npos)
        << error.what();
  }
  EXPECT_THROW((void)stage_of("sobel:channels=4"), PipelineError);
}

TEST(SobelKernel, RefusesALengthThatIsNoWholeFrame) {
  EXPECT_EQ(
      refusal_of(sobel(4, 2), 9),
      "9 bytes do not fit sobel: it takes whole granules of 8 bytes (one frame of 4 x 2 pixels "
      "of 1 byte), and 1 bytes are left over; send 8 or 16 bytes");
  EXPECT_THROW((void)stage_of("sobel:output=angle"), PipelineError);
  EXPECT_THROW((void)stage_of("sobel:border=wrap"), PipelineError);
}

}  // namespace
}  // namespace overlap::test
