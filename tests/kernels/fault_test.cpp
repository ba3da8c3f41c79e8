#include "tests/kernels/kernel_batch.hpp"

namespace overlap::test {
namespace {

using Bytes = std::vector<std::uint8_t>;

/// Jobs that begin with 1, 2, nothing and 2.
KernelBatch batch_of(std::string_view text) {
  return KernelBatch(stage_of(text),
                     {bytes_of(Bytes{1, 9, 9}), bytes_of(Bytes{2, 8}), {}, bytes_of(Bytes{2})});
}

std::vector<std::uint32_t> statuses(const KernelBatch& batch) {
  return {batch.status(0), batch.status(1), batch.status(2), batch.status(3)};
}

using Statuses = std::vector<std::uint32_t>;

TEST(FaultKernel, FailsEveryJobByDefault) {
  KernelBatch sut = batch_of("fault");
  sut.run();
  EXPECT_EQ(statuses(sut), (Statuses{OVERLAP_ITEM_FAILED, OVERLAP_ITEM_FAILED, OVERLAP_ITEM_OK,
                                     OVERLAP_ITEM_FAILED}));
}

TEST(FaultKernel, StrikesTheJobsWithThatFirstByteAndCopiesTheOthers) {
  KernelBatch sut = batch_of("fault:byte=2");
  sut.run();
  EXPECT_EQ(statuses(sut),
            (Statuses{OVERLAP_ITEM_OK, OVERLAP_ITEM_FAILED, OVERLAP_ITEM_OK, OVERLAP_ITEM_FAILED}));
  EXPECT_EQ(elements_of<std::uint8_t>(sut.output(0)), (Bytes{1, 9, 9}));
  EXPECT_EQ(elements_of<std::uint8_t>(sut.output(1)), (Bytes{0xa5, 0xa5})) << "nothing was written";
}

TEST(FaultKernel, SaysThatAnOutputIsTooSmallAndWhatItNeeds) {
  KernelBatch sut = batch_of("fault:kind=too_small,byte=1");
  sut.run();
  EXPECT_EQ(statuses(sut), (Statuses{OVERLAP_ITEM_OUTPUT_TOO_SMALL, OVERLAP_ITEM_OK,
                                     OVERLAP_ITEM_OK, OVERLAP_ITEM_OK}));
  EXPECT_EQ(sut.output(0).size(), 4U) << "one byte more than the output of 3 holds";
  EXPECT_EQ(elements_of<std::uint8_t>(sut.output(1)), (Bytes{2, 8}));
}

TEST(FaultKernel, FailsTheWholeBatchOnTheHostWhereALaunchWouldFail) {
  KernelBatch sut = batch_of("fault:kind=launch,byte=7");
  sut.run();
  EXPECT_EQ(statuses(sut), (Statuses{OVERLAP_ITEM_FAILED, OVERLAP_ITEM_FAILED, OVERLAP_ITEM_OK,
                                     OVERLAP_ITEM_FAILED}));
}

TEST(FaultKernel, FailsOnTheHostWhereTheGpuWouldTrap) {
  KernelBatch sut = batch_of("fault:kind=trap,byte=1");
  sut.run();
  EXPECT_EQ(statuses(sut),
            (Statuses{OVERLAP_ITEM_FAILED, OVERLAP_ITEM_OK, OVERLAP_ITEM_OK, OVERLAP_ITEM_OK}));
}

TEST(FaultKernel, RefusesToLaunchBeforeItLooksAtAnything) {
  const Stage stage = stage_of("fault:kind=launch");
  overlap_batch batch{};
  batch.params = stage.params.data();
  batch.param_count = static_cast<std::uint32_t>(stage.params.size());
  EXPECT_EQ(stage.kernel->launch(batch, nullptr), stage.kernel->has_cuda() ? 1 : 801);
}

TEST(FaultKernel, ReferenceCopiesWhatIsNotStruck) {
  EXPECT_EQ(elements_of<std::uint8_t>(reference_of("fault:byte=2", bytes_of(Bytes{1, 2}))),
            (Bytes{1, 2}));
  EXPECT_TRUE(reference_of("fault:byte=2", bytes_of(Bytes{2, 1})).empty());
}

}  // namespace
}  // namespace overlap::test
