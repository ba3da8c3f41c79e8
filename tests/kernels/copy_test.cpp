#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

TEST(CopyKernel, GivesEveryByteOfEverySize) {
  for (const std::size_t bytes : kAwkwardCounts) {
    KernelBatch sut(stage_of("copy"), {awkward_input(ElementKind::u8, bytes)});
    sut.run();
    EXPECT_TRUE(sut.matches_reference(ElementKind::u8)) << bytes << " bytes";
  }
}

TEST(CopyKernel, RunsJobsOfDifferentSizesInOneBatch) {
  KernelBatch sut(stage_of("copy"), {awkward_input(ElementKind::u8, 4097),
                                     awkward_input(ElementKind::u8, 1),
                                     {},
                                     awkward_input(ElementKind::u8, 255)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(CopyKernel, ReferenceGivesTheInput) {
  const auto input = bytes_of<std::uint8_t>({0, 1, 127, 128, 255});
  EXPECT_EQ(reference_of("copy", input), input);
}

TEST(CopyKernel, RefusesNoSize) {
  for (const std::uint64_t bytes : {0ULL, 1ULL, 3ULL, 1ULL << 40U}) {
    EXPECT_EQ(refusal_of("copy", bytes), "");
  }
}

TEST(CopyKernel, SaysThatItCannotBeLaunchedInABuildWithoutCuda) {
  const Stage stage = stage_of("copy");
  if (stage.kernel->has_cuda()) {
    GTEST_SKIP() << "this build has CUDA: tests/gpu launches the kernels";
  }
  const overlap_batch batch{};
  constexpr int kErrorNotSupported = 801;
  for (const Kernel* const kernel : builtin_kernels().all()) {
    EXPECT_FALSE(kernel->has_cuda()) << kernel->name();
    EXPECT_EQ(kernel->launch(batch, nullptr), kErrorNotSupported) << kernel->name();
  }
}

// The comparison that every kernel test leans on has to see a single wrong byte anywhere.
TEST(KernelBatch, FindsAPlantedWrongByte) {
  KernelBatch sut(stage_of("copy"),
                  {awkward_input(ElementKind::u8, 100), awkward_input(ElementKind::u8, 33)});
  sut.run();
  ASSERT_TRUE(sut.matches_reference(ElementKind::u8));
  for (const std::size_t at : {0U, 32U, 33U, 96U}) {
    sut.output_area(1)[at] ^= std::byte{1};
    EXPECT_FALSE(sut.matches_reference(ElementKind::u8)) << "byte " << at;
    sut.output_area(1)[at] ^= std::byte{1};
  }
  sut.input_area(0)[99] ^= std::byte{1};
  EXPECT_FALSE(sut.matches_reference(ElementKind::u8));
}

TEST(KernelBatch, FindsAJobThatWasNotRun) {
  const KernelBatch sut(stage_of("copy"), {awkward_input(ElementKind::u8, 1)});
  EXPECT_FALSE(sut.matches_reference(ElementKind::u8));
}

}  // namespace
}  // namespace overlap::test
