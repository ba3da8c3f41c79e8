#include "tests/kernels/kernel_batch.hpp"

#if defined(__x86_64__) && defined(__linux__)
#include "tests/unit/page_access_count.hpp"
#endif

namespace overlap::test {
namespace {

TEST(VectorAddKernel, EqualsTheReferenceForEverySize) {
  for (const std::size_t count : kAwkwardCounts) {
    KernelBatch sut(stage_of("vector_add"), {awkward_input(ElementKind::f32, 2 * count)});
    sut.run();
    EXPECT_TRUE(sut.matches_reference(ElementKind::f32)) << count << " sums";
  }
}

TEST(VectorAddKernel, GivesTheSameHoweverOftenItRepeats) {
  for (const std::string_view text : {"vector_add:repeat=2", "vector_add:repeat=50"}) {
    KernelBatch sut(stage_of(text), {awkward_input(ElementKind::f32, 2 * 1023)});
    sut.run();
    EXPECT_TRUE(sut.matches_reference(ElementKind::f32)) << text;
  }
}

TEST(VectorAddKernel, RunsJobsOfDifferentSizesInOneBatch) {
  KernelBatch sut(stage_of("vector_add:repeat=3"), {awkward_input(ElementKind::f32, 2, 1),
                                                    {},
                                                    awkward_input(ElementKind::f32, 2 * 257, 2),
                                                    awkward_input(ElementKind::f32, 2 * 16, 3)});
  sut.run();
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32));
}

TEST(VectorAddKernel, ReferenceAddsTheSecondHalfToTheFirst) {
  const auto result =
      reference_of("vector_add", bytes_of<float>({1.0F, -2.5F, 16'777'216.0F, 0.25F, 2.5F, 1.0F}));
  EXPECT_EQ(elements_of<float>(result), (std::vector<float>{1.25F, 0.0F, 16'777'216.0F}));
}

TEST(VectorAddKernel, ReferenceKeepsInfinitiesDenormalsAndNaN) {
  using Limits = std::numeric_limits<float>;
  const auto result = elements_of<float>(reference_of(
      "vector_add", bytes_of<float>({Limits::infinity(), Limits::denorm_min(), Limits::max(),
                                     -Limits::infinity(), Limits::denorm_min(), Limits::max()})));
  ASSERT_EQ(result.size(), 3U);
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_EQ(result[1], 0x1p-148F);
  EXPECT_EQ(result[2], Limits::infinity());
}

TEST(VectorAddKernel, RefusesALengthThatIsNoWholePair) {
  EXPECT_EQ(refusal_of("vector_add", 12),
            "12 bytes do not fit vector_add: it takes whole granules of 8 bytes (one f32 element "
            "of each of the two arrays), and 4 bytes are left over; send 8 or 16 bytes");
}

TEST(VectorAddKernel, AllowsTheMappedPathOnlyWhenEachByteIsReadOnce) {
  const auto paths = [](std::string_view text) {
    const Stage stage = stage_of(text);
    return std::get<Plan>(stage.kernel->plan(stage.params, 8)).paths;
  };
  constexpr auto kMapped = static_cast<std::uint8_t>(Path::mapped);
  EXPECT_NE(paths("vector_add") & kMapped, 0);
  EXPECT_EQ(paths("vector_add:repeat=2") & kMapped, 0);
}

#if defined(__x86_64__) && defined(__linux__)

/// Instructions of one run that touch the input's page, and those that touch the output's.
std::pair<std::uint64_t, std::uint64_t> accesses_of(std::string_view text) {
  constexpr std::size_t kInputBytes = 37 * 8;
  const Stage stage = stage_of(text);
  CountedPage input;
  CountedPage output;
  std::uint64_t output_bytes = kInputBytes / 2;
  std::uint32_t status = OVERLAP_ITEM_OK;
  const overlap_batch_item item{input.data(),        kInputBytes, output.data(), output_bytes,
                                stage.params.data(), nullptr,     nullptr,       0,
                                &output_bytes,       &status};
  const overlap_batch batch{sizeof(overlap_batch), sizeof item, 1,       1, &item, nullptr,
                            stage.params.data(),   kInputBytes, nullptr, 0, 0,     0};
  count_accesses({&input, &output}, [&] { stage.kernel->run(batch); });
  return {input.accesses(), output.accesses()};
}

TEST(VectorAddKernel, ReallyReadsBothInputsAndWritesTheOutputOnEveryPass) {
  const auto once = accesses_of("vector_add:repeat=1");
  ASSERT_GT(once.first, 0U);
  ASSERT_GT(once.second, 0U);
  for (const std::uint64_t repeat : {2U, 3U, 50U}) {
    const auto many = accesses_of("vector_add:repeat=" + std::to_string(repeat));
    EXPECT_EQ(many.first, repeat * once.first) << repeat << " passes";
    EXPECT_EQ(many.second, repeat * once.second) << repeat << " passes";
  }
}

#endif

}  // namespace
}  // namespace overlap::test
