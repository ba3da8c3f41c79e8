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
}

TEST(TransposeKernel, KnowsTheSizeOfItsLargestFrame) {
  const Stage sut = stage_of(transpose(1'048'576, 1'048'576));
  EXPECT_EQ(sut.kernel->granule_bytes(sut.params), 1ULL << 42U);
}

TEST(TransposeKernel, TakesAThousandAndTwentyFourByDefault) {
  const Stage sut = stage_of("transpose");
  EXPECT_EQ(sut.kernel->granule_bytes(sut.params), 1024ULL * 1024 * 4);
}

}  // namespace
}  // namespace overlap::test
