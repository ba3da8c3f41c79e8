#include "kernels/imaging/gaussian_weights.hpp"
#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

constexpr std::string_view kBorders[] = {"reflect101", "reflect", "replicate", "zero"};
/// Radius 1 (twice), 3, 5, 8, 9, 30, 150: none is like another, and 8 is where CUDA changes its way.
constexpr std::string_view kSigmas[] = {"0.1", "0.3", "1", "1.5", "2.6", "3", "10", "50"};

std::string blur(std::size_t width, std::size_t height, std::size_t channels,
                 std::string_view sigma = "1.5", std::string_view border = "reflect101") {
  return "gaussian_blur:width=" + std::to_string(width) + ",height=" + std::to_string(height) +
         ",channels=" + std::to_string(channels) + ",sigma=" + std::string(sigma) +
         ",border=" + std::string(border);
}

Bytes blurred(const std::string& text, const Bytes& pixels) {
  return elements_of<std::uint8_t>(reference_of(text, bytes_of(pixels)));
}

void expect_equal(const std::string& text, std::vector<std::vector<std::byte>> inputs) {
  KernelBatch sut(stage_of(text), std::move(inputs));
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8)) << text;
}

constexpr std::size_t kSides[] = {1, 2, 3, 17, 40};

/// A case for each width: all in one would take a sanitizer minutes.
class GaussianBlurOfWidth : public testing::TestWithParam<std::size_t> {};

TEST_P(GaussianBlurOfWidth, EqualsTheReferenceForEveryHeightSigmaAndBorder) {
  const std::size_t width = GetParam();
  for (const std::size_t height : kSides) {
    for (const std::size_t channels : {1U, 3U, 4U}) {
      for (const std::string_view sigma : kSigmas) {
        if (width * height > 100 && sigma == "50") {
          continue;
        }
        for (const std::string_view border : kBorders) {
          expect_equal(blur(width, height, channels, sigma, border),
                       {awkward_input(ElementKind::u8, width * height * channels)});
          if (HasFailure()) {
            return;
          }
        }
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Widths, GaussianBlurOfWidth, testing::ValuesIn(kSides));

TEST(GaussianBlurKernel, EqualsTheReferenceForLongAndLargeFrames) {
  const std::pair<std::size_t, std::size_t> shapes[] = {{1, 1025}, {1025, 1}, {255, 9},
                                                        {256, 9},  {257, 9},  {320, 200}};
  for (const auto& [width, height] : shapes) {
    for (const std::size_t channels : {1U, 3U, 4U}) {
      for (const std::string_view sigma : {"1.5", "5"}) {
        expect_equal(blur(width, height, channels, sigma),
                     {awkward_input(ElementKind::u8, width * height * channels)});
      }
    }
  }
  expect_equal(blur(310, 320, 1, "50"), {awkward_input(ElementKind::u8, 310 * 320)});
}

TEST(GaussianBlurKernel, WorksOnEveryFrameOfEveryJobByItself) {
  expect_equal(blur(17, 5, 3), {awkward_input(ElementKind::u8, 17 * 5 * 3 * 3, 1),
                                {},
                                awkward_input(ElementKind::u8, 17 * 5 * 3, 2)});
}

TEST(GaussianBlurKernel, NeitherOverflowsNorDarkensWhatIsWhite) {
  for (const std::string_view sigma : kSigmas) {
    for (const std::uint8_t gray : Bytes{0, 1, 128, 255}) {
      const Bytes flat(40 * 30, gray);
      EXPECT_EQ(blurred(blur(40, 30, 1, sigma), flat), flat) << sigma;
      expect_equal(blur(40, 30, 1, sigma), {bytes_of(flat)});
    }
  }
}

TEST(GaussianBlurKernel, ReferenceSpreadsAPointAsTheGaussianSays) {
  Bytes point(11 * 11, 0);
  point[5 * 11 + 5] = 255;
  const Bytes result = blurred(blur(11, 11, 1, "1"), point);
  // exp(-k^2 / 2) over their sum up to 3: 0.39905, 0.24204, 0.05401, 0.00443.
  EXPECT_EQ(result[5 * 11 + 5], 41);  // 255 * 0.39905^2 = 40.6
  EXPECT_EQ(result[5 * 11 + 6], 25);  // 255 * 0.39905 * 0.24204 = 24.6
  EXPECT_EQ(result[4 * 11 + 4], 15);  // 255 * 0.24204^2 = 14.9
  EXPECT_EQ(result[7 * 11 + 5], 5);   // 255 * 0.05401 * 0.39905 = 5.5, a little less
  EXPECT_EQ(result[5 * 11 + 9], 0);
}

TEST(GaussianBlurKernel, ReferenceBlursEachChannelByItself) {
  Bytes pixels(9 * 9 * 4, 0);
  for (std::size_t at = 0; at < pixels.size(); at += 4) {
    pixels[at + 1] = 90;
    pixels[at + 3] = 255;
  }
  EXPECT_EQ(blurred(blur(9, 9, 4), pixels), pixels);
}

TEST(GaussianBlurKernel, ChangesNothingWhereTheGaussianIsNarrowerThanAPixel) {
  const auto pixels = awkward_input(ElementKind::u8, 31 * 17);
  EXPECT_EQ(reference_of(blur(31, 17, 1, "0.1"), pixels), pixels);
}

/// The blur in real numbers, radius and all.
std::vector<double> real_blur(const Bytes& pixels, std::int64_t width, std::int64_t height,
                              double sigma) {
  const auto radius = static_cast<std::int64_t>(std::ceil(3 * sigma));
  std::vector<double> weights;
  double total = 0;
  for (std::int64_t k = -radius; k <= radius; ++k) {
    weights.push_back(std::exp(-static_cast<double>(k * k) / (2 * sigma * sigma)));
    total += weights.back();
  }
  const auto pass = [&](const std::vector<double>& in, std::int64_t dx, std::int64_t dy) {
    std::vector<double> out(in.size());
    for (std::int64_t y = 0; y < height; ++y) {
      for (std::int64_t x = 0; x < width; ++x) {
        double sum = 0;
        for (std::int64_t k = -radius; k <= radius; ++k) {
          const std::int64_t column = std::clamp<std::int64_t>(x + k * dx, 0, width - 1);
          const std::int64_t row = std::clamp<std::int64_t>(y + k * dy, 0, height - 1);
          sum += weights[static_cast<std::size_t>(k + radius)] / total *
                 in[static_cast<std::size_t>(row * width + column)];
        }
        out[static_cast<std::size_t>(y * width + x)] = sum;
      }
    }
    return out;
  };
  return pass(pass(std::vector<double>(pixels.begin(), pixels.end()), 1, 0), 0, 1);
}

TEST(GaussianBlurKernel, IsWithinTheStatedErrorOfTheRealGaussian) {
  for (const double sigma : {0.1, 0.3, 1.0, 1.5, 2.6, 5.0, 15.0}) {
    const auto bytes = awkward_input(ElementKind::u8, 96 * 64);
    const Bytes noise = elements_of<std::uint8_t>(bytes);
    Bytes stripes(96 * 64);
    for (std::size_t at = 0; at < stripes.size(); ++at) {
      stripes[at] = at % 96 < 48 ? 255 : 0;
    }
    const double bound = 0.5 + 1.0 / 512 + 4 * 255 * std::ceil(3 * sigma) / 65'536;
    for (const Bytes& pixels : {noise, stripes}) {
      std::string sigma_text = std::to_string(sigma);
      const Bytes got = blurred(blur(96, 64, 1, sigma_text, "replicate"), pixels);
      const std::vector<double> exact = real_blur(pixels, 96, 64, sigma);
      for (std::size_t at = 0; at < got.size(); ++at) {
        ASSERT_LE(std::abs(got[at] - exact[at]), bound) << sigma << " at " << at;
      }
    }
  }
}

TEST(GaussianWeights, AddUpToOneAndFitTwoBytes) {
  for (double sigma = kMinSigma; sigma <= kMaxSigma; sigma += 0.1) {
    const GaussianWeights sut = gaussian_weights(sigma);
    ASSERT_GE(sut.radius, 1U);
    ASSERT_LE(sut.radius, kMaxBlurRadius);
    std::uint32_t total = sut.taps[0];
    for (std::uint32_t k = 1; k <= sut.radius; ++k) {
      total += 2U * sut.taps[k];
    }
    ASSERT_EQ(total, 65'536U) << sigma;
    ASSERT_LE(sut.taps[0], 65'534U) << sigma;
  }
}

TEST(GaussianWeights, ReachThreeSigmaFar) {
  EXPECT_EQ(gaussian_weights(0.1).radius, 1U);
  EXPECT_EQ(gaussian_weights(1.0).radius, 3U);
  EXPECT_EQ(gaussian_weights(1.5).radius, 5U);
  EXPECT_EQ(gaussian_weights(50.0).radius, 150U);
}

TEST(GaussianBlurKernel, AsksForAWorkspaceOnlyWhereItIsBlurredInTwoGoes) {
  const auto workspace_of = [](std::size_t height, std::string_view sigma) {
    const Stage stage = stage_of(blur(10, height, 3, sigma));
    return std::get<Plan>(stage.kernel->plan(stage.params, 2 * 30 * height)).workspace_bytes;
  };
  EXPECT_EQ(workspace_of(10, "2.6"), 0U);
  EXPECT_EQ(workspace_of(12, "2.7"), 2U * 2 * 30 * 12);
  EXPECT_EQ(workspace_of(10, "2.7"), 2U * 2 * 30 * 12) << "rows in whole fours";
  EXPECT_EQ(workspace_of(1, "2.7"), 2U * 2 * 30 * 4);
}

TEST(GaussianBlurKernel, RefusesSigmasAndLengthsThatItCannotUse) {
  EXPECT_THROW((void)stage_of("gaussian_blur:sigma=0"), PipelineError);
  EXPECT_THROW((void)stage_of("gaussian_blur:sigma=50.1"), PipelineError);
  EXPECT_THROW((void)stage_of("gaussian_blur:border=wrap"), PipelineError);
  EXPECT_EQ(
      refusal_of(blur(4, 2, 4), 33),
      "33 bytes do not fit gaussian_blur: it takes whole granules of 32 bytes (one frame of 4 "
      "x 2 pixels of 4 bytes), and 1 bytes are left over; send 32 or 64 bytes");
}

}  // namespace
}  // namespace overlap::test
