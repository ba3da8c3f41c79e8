#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Words = std::vector<std::int32_t>;

std::string transpose(std::size_t rows, std::size_t cols) {
  return "transpose:rows=" + std::to_string(rows) + ",cols=" + std::to_string(cols);
}

TEST(TransposeKernel, EqualsTheReferenceForEveryShape) {
  constexpr std::size_t kSides[] = {1, 2, 3, 4, 15, 16, 17, 31, 32, 33, 64, 100, 257};
  for (const std::size_t rows : kSides) {
    for (const std::size_t cols : kSides) {
      KernelBatch sut(stage_of(transpose(rows, cols)),
                      {awkward_input(ElementKind::i32, rows * cols)});
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::i32)) << rows << " x " << cols;
    }
  }
}

/// In bytes, whatever an element is.
std::vector<std::byte> frames_of(std::size_t bytes, std::uint32_t seed = 1) {
  return awkward_input(ElementKind::u8, bytes, seed);
}

constexpr std::size_t kWidths[] = {1, 2, 4, 8, 16};

std::string wide_transpose(std::size_t rows, std::size_t cols, std::size_t width) {
  return transpose(rows, cols) + ",element_bytes=" + std::to_string(width);
}

TEST(TransposeKernel, EqualsTheReferenceForEveryWidthAndShape) {
  constexpr std::size_t kSides[] = {1, 2, 3, 4, 7, 15, 16, 17, 32, 63, 64, 65, 130};
  for (const std::size_t width : kWidths) {
    for (const std::size_t rows : kSides) {
      for (const std::size_t cols : kSides) {
        KernelBatch sut(stage_of(wide_transpose(rows, cols, width)),
                        {frames_of(rows * cols * width)});
        sut.run();
        ASSERT_TRUE(sut.matches_reference(ElementKind::u8))
            << rows << " x " << cols << " elements of " << width << " bytes";
      }
    }
  }
}

TEST(TransposeKernel, TurnsEveryFrameOfEveryJobForEveryWidth) {
  for (const std::size_t width : kWidths) {
    const std::size_t frame = 67 * 66 * width;
    KernelBatch sut(stage_of(wide_transpose(67, 66, width)),
                    {frames_of(3 * frame, 1), {}, frames_of(frame, 2), frames_of(5 * frame, 3)});
    sut.run();
    EXPECT_TRUE(sut.matches_reference(ElementKind::u8)) << width;
  }
}

TEST(TransposeKernel, ReferenceKeepsTheBytesOfAnElementTogether) {
  using Bytes = std::vector<std::uint8_t>;
  const Bytes bytes = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12};
  const auto turned = [&bytes](std::string_view text) {
    return elements_of<std::uint8_t>(reference_of(text, bytes_of(bytes)));
  };
  EXPECT_EQ(turned("transpose:rows=2,cols=6,element_bytes=1"),
            (Bytes{1, 7, 2, 8, 3, 9, 4, 10, 5, 11, 6, 12}));
  EXPECT_EQ(turned("transpose:rows=2,cols=3,element_bytes=2"),
            (Bytes{1, 2, 7, 8, 3, 4, 9, 10, 5, 6, 11, 12}));
  EXPECT_EQ(turned("transpose:rows=3,cols=1,element_bytes=4"), bytes);
}

TEST(TransposeKernel, IsMappedOnlyWhereWholeWordsAreMoved) {
  const auto is_mapped = [](const std::string& text) {
    const Stage stage = stage_of(text);
    const Plan plan =
        std::get<Plan>(stage.kernel->plan(stage.params, stage.kernel->granule_bytes(stage.params)));
    return (plan.paths & static_cast<std::uint8_t>(Path::mapped)) != 0;
  };
  EXPECT_TRUE(is_mapped(wide_transpose(100, 64, 1)));
  EXPECT_FALSE(is_mapped(wide_transpose(100, 66, 1)));
  EXPECT_TRUE(is_mapped(wide_transpose(100, 66, 2)));
  EXPECT_FALSE(is_mapped(wide_transpose(99, 66, 2)));
  EXPECT_TRUE(is_mapped(wide_transpose(99, 67, 4)));
  EXPECT_TRUE(is_mapped(wide_transpose(1, 1, 16)));
}

TEST(TransposeKernel, RefusesAWidthThatNoElementHas) {
  EXPECT_THROW((void)stage_of("transpose:element_bytes=3"), PipelineError);
  EXPECT_THROW((void)stage_of("transpose:element_bytes=32"), PipelineError);
}

TEST(TransposeKernel, EqualsTheReferenceForLongAndLargeFrames) {
  const std::pair<std::size_t, std::size_t> shapes[] = {
      {1, 4097}, {4097, 1}, {1023, 257}, {512, 512}, {3, 65'537}};
  for (const auto& [rows, cols] : shapes) {
    KernelBatch sut(stage_of(transpose(rows, cols)),
                    {awkward_input(ElementKind::i32, rows * cols)});
    sut.run();
    ASSERT_TRUE(sut.matches_reference(ElementKind::i32)) << rows << " x " << cols;
  }
}

TEST(TransposeKernel, TurnsEveryFrameOfEveryJobByItself) {
  KernelBatch sut(stage_of(transpose(17, 20)), {awkward_input(ElementKind::i32, 17 * 20 * 5, 1),
                                                awkward_input(ElementKind::i32, 17 * 20, 2),
                                                {},
                                                awkward_input(ElementKind::i32, 17 * 20 * 2, 3)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::i32));
}

TEST(TransposeKernel, ReferenceTurnsRowsIntoColumns) {
  const auto result = reference_of(transpose(2, 3), bytes_of(Words{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(elements_of<std::int32_t>(result), (Words{1, 4, 2, 5, 3, 6}));
}

TEST(TransposeKernel, ReferenceTurnsEachFrameByItself) {
  const auto result = reference_of(transpose(2, 2), bytes_of(Words{1, 2, 3, 4, -1, -2, -3, -4}));
  EXPECT_EQ(elements_of<std::int32_t>(result), (Words{1, 3, 2, 4, -1, -3, -2, -4}));
}

TEST(TransposeKernel, RefusesALengthThatIsNoWholeFrame) {
  EXPECT_EQ(refusal_of(transpose(4, 4), 100),
            "100 bytes do not fit transpose: it takes whole granules of 64 bytes (one frame of 4 "
            "rows x 4 columns of 4-byte elements), and 36 bytes are left over; send 64 or 128 "
            "bytes");
  EXPECT_EQ(refusal_of(transpose(4, 4), 192), "");
  EXPECT_EQ(refusal_of(wide_transpose(3, 1, 16), 16),
            "16 bytes do not fit transpose: it takes whole granules of 48 bytes (one frame of 3 "
            "rows x 1 columns of 16-byte elements), and 16 bytes are left over; send 48 bytes");
}

TEST(TransposeKernel, KnowsTheSizeOfItsLargestFrame) {
  const Stage sut = stage_of(transpose(1'048'576, 1'048'576));
  EXPECT_EQ(sut.kernel->granule_bytes(sut.params), 1ULL << 42U);
  const Stage wide = stage_of(wide_transpose(1'048'576, 1'048'576, 16));
  EXPECT_EQ(wide.kernel->granule_bytes(wide.params), 1ULL << 44U);
}

TEST(TransposeKernel, TakesAThousandAndTwentyFourByDefault) {
  const Stage sut = stage_of("transpose");
  EXPECT_EQ(sut.kernel->granule_bytes(sut.params), 1024ULL * 1024 * 4);
}

}  // namespace
}  // namespace overlap::test
