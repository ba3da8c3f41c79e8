#include "tests/kernels/kernel_batch.hpp"

#include <chrono>

namespace overlap::test {
namespace {

using std::chrono::microseconds;
using std::chrono::steady_clock;

steady_clock::duration duration_of(KernelBatch& batch) {
  const auto start = steady_clock::now();
  batch.run();
  return steady_clock::now() - start;
}

TEST(SpinKernel, PassesItsBytesThroughForEverySize) {
  for (const std::size_t count : kAwkwardCounts) {
    KernelBatch sut(stage_of("spin:microseconds=1"), {awkward_input(ElementKind::u8, count)});
    sut.run();
    ASSERT_TRUE(sut.matches_reference(ElementKind::u8)) << count;
  }
}

TEST(SpinKernel, IsBusyForAtLeastAsLongAsAsked) {
  KernelBatch sut(stage_of("spin:microseconds=3000"), {awkward_input(ElementKind::u8, 10)});
  EXPECT_GE(duration_of(sut), microseconds(3000));
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(SpinKernel, SpinsAMillisecondByDefault) {
  KernelBatch sut(stage_of("spin"), {awkward_input(ElementKind::u8, 1)});
  EXPECT_GE(duration_of(sut), microseconds(1000));
}

TEST(SpinKernel, SpinsAtTheSameTimeForAllJobsOfABatch) {
  constexpr std::size_t kJobs = 200;
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t job = 0; job < kJobs; ++job) {
    inputs.push_back(awkward_input(ElementKind::u8, job % 5, static_cast<std::uint32_t>(job)));
  }
  KernelBatch sut(stage_of("spin:microseconds=20000"), std::move(inputs));
  const auto duration = duration_of(sut);
  EXPECT_GE(duration, microseconds(20'000));
  // One after the other it would be 3.2 seconds of spinning; the machine may be busy.
  EXPECT_LT(duration, microseconds(20'000) * kJobs * 4 / 5);
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

TEST(SpinKernel, LetsAJobBringItsDuration) {
  const Stage stage = stage_of("spin:microseconds=1");
  ASSERT_TRUE(stage.kernel->parameters()[0].per_job);
  KernelBatch sut(stage, {awkward_input(ElementKind::u8, 3)});
  sut.give_jobs({{.i64 = 4000}});
  EXPECT_GE(duration_of(sut), microseconds(4000));
}

TEST(SpinKernel, RefusesDurationsThatAreNoneOrTooLong) {
  EXPECT_THROW((void)stage_of("spin:microseconds=0"), PipelineError);
  EXPECT_THROW((void)stage_of("spin:microseconds=10000001"), PipelineError);
  EXPECT_NO_THROW((void)stage_of("spin:microseconds=10000000"));
}

}  // namespace
}  // namespace overlap::test
