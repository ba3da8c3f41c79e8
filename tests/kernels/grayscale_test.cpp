#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

std::string grayscale(std::size_t width, std::size_t height, int channels,
                      std::string_view weights = "bt601") {
  return "grayscale:width=" + std::to_string(width) + ",height=" + std::to_string(height) +
         ",channels=" + std::to_string(channels) + ",weights=" + std::string(weights);
}

Bytes luma_of(const std::string& text, const Bytes& pixels) {
  return elements_of<std::uint8_t>(reference_of(text, bytes_of(pixels)));
}

TEST(GrayscaleKernel, EqualsTheReferenceForEverySize) {
  for (const int channels : {3, 4}) {
    for (const std::string_view weights : {"bt601", "bt709"}) {
      for (const std::size_t count : kAwkwardCounts) {
        const std::string text = grayscale(1, 1, channels, weights);
        KernelBatch sut(
            stage_of(text),
            {awkward_input(ElementKind::u8, count * static_cast<std::size_t>(channels))});
        sut.run();
        ASSERT_TRUE(sut.matches_reference(ElementKind::u8)) << text << ", " << count << " pixels";
      }
    }
  }
}

TEST(GrayscaleKernel, RunsJobsOfDifferentSizesInOneBatch) {
  KernelBatch sut(
      stage_of(grayscale(5, 3, 3)),
      {awkward_input(ElementKind::u8, 45, 1), {}, awkward_input(ElementKind::u8, 45 * 7, 2)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(GrayscaleKernel, ReferenceWeighsTheColoursAsTheStandardsSay) {
  const Bytes pixels = {0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 255, 0, 0, 0, 255, 10, 200, 30};
  // 0.299 * 255 = 76.2, 0.587 * 255 = 149.7, 0.114 * 255 = 29.07; 2.99 + 117.4 + 3.42 = 123.81.
  EXPECT_EQ(luma_of(grayscale(6, 1, 3), pixels), (Bytes{0, 255, 76, 150, 29, 124}));
  // 0.2126 * 255 = 54.2, 0.7152 * 255 = 182.4, 0.0722 * 255 = 18.4; 2.126 + 143.04 + 2.166 = 147.3.
  EXPECT_EQ(luma_of(grayscale(6, 1, 3, "bt709"), pixels), (Bytes{0, 255, 54, 182, 18, 147}));
}

TEST(GrayscaleKernel, ReferenceDropsAlpha) {
  EXPECT_EQ(luma_of(grayscale(2, 1, 4), {255, 0, 0, 0, 255, 0, 0, 255}), (Bytes{76, 76}));
}

TEST(GrayscaleKernel, KeepsEveryGrayAsItIs) {
  Bytes grays;
  Bytes pixels;
  for (int gray = 0; gray < 256; ++gray) {
    grays.push_back(static_cast<std::uint8_t>(gray));
    pixels.insert(pixels.end(), 3, grays.back());
  }
  EXPECT_EQ(luma_of(grayscale(256, 1, 3), pixels), grays);
  EXPECT_EQ(luma_of(grayscale(256, 1, 3, "bt709"), pixels), grays);
}

TEST(GrayscaleKernel, IsWithinTheStatedErrorOfTheRealMean) {
  for (int red = 0; red < 256; red += 5) {
    for (int green = 0; green < 256; green += 5) {
      Bytes pixels;
      for (int blue = 0; blue < 256; ++blue) {
        for (const int sample : {red, green, blue}) {
          pixels.push_back(static_cast<std::uint8_t>(sample));
        }
      }
      const Bytes luma = luma_of(grayscale(256, 1, 3), pixels);
      for (int blue = 0; blue < 256; ++blue) {
        const double exact = 0.299 * red + 0.587 * green + 0.114 * blue;
        ASSERT_LT(std::abs(luma[static_cast<std::size_t>(blue)] - exact), 0.506);
      }
    }
  }
}

TEST(GrayscaleKernel, RefusesALengthThatIsNoWholeFrame) {
  EXPECT_EQ(
      refusal_of(grayscale(4, 2, 3), 25),
      "25 bytes do not fit grayscale: it takes whole granules of 24 bytes (one frame of 4 x 2 "
      "pixels of 3 bytes), and 1 bytes are left over; send 24 or 48 bytes");
  EXPECT_EQ(refusal_of(grayscale(4, 2, 3), 48), "");
}

TEST(GrayscaleKernel, RefusesImagesWithoutColours) {
  EXPECT_THROW((void)stage_of("grayscale:channels=1"), PipelineError);
  EXPECT_THROW((void)stage_of("grayscale:width=0"), PipelineError);
  EXPECT_THROW((void)stage_of("grayscale:height=65536"), PipelineError);
  EXPECT_THROW((void)stage_of("grayscale:weights=bt2020"), PipelineError);
}

TEST(GrayscaleKernel, KnowsTheSizeOfItsLargestFrame) {
  const Stage sut = stage_of(grayscale(65'535, 65'535, 4));
  EXPECT_EQ(sut.kernel->granule_bytes(sut.params), 65'535ULL * 65'535 * 4);
}

TEST(GrayscaleKernel, LeadsAPipelineOfImagingKernelsWithNothingButDefaults) {
  const Pipeline sut =
      Pipeline::parse("grayscale|gaussian_blur:sigma=1.5|sobel", builtin_kernels());
  EXPECT_EQ(sut.granule_bytes(), 1920U * 1080 * 3);
  EXPECT_EQ(std::get<PipelinePlan>(sut.plan(1920U * 1080 * 3)).max_output_bytes, 1920U * 1080);
}

}  // namespace
}  // namespace overlap::test
