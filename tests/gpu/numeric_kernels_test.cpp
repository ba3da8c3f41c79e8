#include "tests/gpu/launched_batch.hpp"

#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <numeric>

// What the numeric kernels promise beyond the right bytes for the sizes that all kernels are tried
// with.

namespace overlap::test {
namespace {

class NumericKernelsOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
      (void)cudaGetLastError();
      GTEST_SKIP() << "no GPU: cudaGetDeviceCount says " << cudaGetErrorName(status) << ", "
                   << devices << " devices";
    }
    stream_ = std::make_unique<Stream>();
  }

  [[nodiscard]] Stage stage_of(std::string_view text) const {
    return Pipeline::parse(text, registry_).stages().front();
  }
  void runs(const LaunchedBatch& batch) {
    ASSERT_EQ(batch.launch(stream_->get()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  }

  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
  std::unique_ptr<Stream> stream_;
};

TEST_F(NumericKernelsOnGpu, ReduceEqualsTheReferenceForMoreRunsThanLanes) {
  for (const std::string op : {"sum", "min", "max", "mean", "variance"}) {
    const Stage f32 = stage_of("reduce:type=f32,op=" + op);
    const LaunchedBatch floats(f32, Place::device,
                               {finite_input<float>(600 * 4096 + 3, 1), finite_input<float>(5, 2),
                                finite_input<float>(300 * 4096, 3)});
    runs(floats);
    EXPECT_TRUE(floats.matches_reference(ElementKind::f64)) << op << " of f32";
    const Stage f64 = stage_of("reduce:type=f64,length=614400,op=" + op);
    const LaunchedBatch doubles(f64, Place::device, {finite_input<double>(2 * 614'400, 4)});
    runs(doubles);
    EXPECT_TRUE(doubles.matches_reference(ElementKind::f64)) << op << " of f64";
  }
}

TEST_F(NumericKernelsOnGpu, ReduceRefusesAWorkspaceThatIsTooSmall) {
  const Stage stage = stage_of("reduce:type=u8");
  overlap_batch batch{};
  batch.struct_bytes = sizeof batch;
  batch.item_count = 1;
  batch.params = stage.params.data();
  batch.param_count = static_cast<std::uint32_t>(stage.params.size());
  batch.max_input_bytes = 1 << 20;
  EXPECT_EQ(stage.kernel->launch(batch, stream_->get()), cudaErrorInvalidValue);
}

// A producer owns its memory: it may write there while the GPU reads.
TEST_F(NumericKernelsOnGpu, HistogramStaysWithinItsOutputWhileItsInputIsFlipped) {
  constexpr std::size_t kElements = 4'000'000;
  for (const std::string_view text : {"histogram:type=f32,bins=1000,lower=-1e30,upper=1e30",
                                      "histogram:type=f32,bins=65536,lower=-1e30,upper=1e30"}) {
    const Stage stage = stage_of(text);
    const LaunchedBatch sut(stage, Place::pinned, {awkward_input(ElementKind::f32, kElements)});
    std::size_t flips = 0;
    // A launch may be over before the host flips anything: until it was caught in one.
    for (int round = 0; round < 200 && flips < 1000; ++round) {
      ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess);
      for (std::size_t i = 0; cudaStreamQuery(stream_->get()) == cudaErrorNotReady;
           i = (i + 99'991) % kElements) {
        sut.pinned_input()[i] = flips % 2 == 0 ? std::numeric_limits<float>::quiet_NaN() : 3e38F;
        ++flips;
      }
      ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
      const auto counts =
          elements_of<std::uint32_t>(sut.output(0, stage.params[1].i64 * sizeof(std::uint32_t)));
      EXPECT_LE(std::accumulate(counts.begin(), counts.end(), std::uint64_t{0}), kElements);
    }
    EXPECT_GT(flips, 0U) << text << ": the input never changed while the kernel ran";
  }
}

TEST_F(NumericKernelsOnGpu, SpinIsBusyForAllJobsAtTheSameTime) {
  constexpr std::size_t kJobs = 100;
  std::vector<std::vector<std::byte>> inputs;
  for (std::size_t job = 0; job < kJobs; ++job) {
    inputs.push_back(awkward_input(ElementKind::u8, job, static_cast<std::uint32_t>(job)));
  }
  const Stage stage = stage_of("spin:microseconds=20000");
  const LaunchedBatch sut(stage, Place::device, std::move(inputs));
  const auto start = std::chrono::steady_clock::now();
  runs(sut);
  const auto duration = std::chrono::steady_clock::now() - start;
  // The GPU's clock may advance in steps.
  EXPECT_GE(duration, std::chrono::microseconds(19'990));
  EXPECT_LT(duration, std::chrono::milliseconds(20) * kJobs / 2) << "one after the other it is 2 s";
  EXPECT_TRUE(sut.matches_reference(ElementKind::u8));
}

#if OVERLAP_TEST_KERNELS

std::vector<std::vector<std::byte>> marked_jobs() {
  return {
      bytes_of(std::vector<std::uint8_t>{1, 9, 9}), bytes_of(std::vector<std::uint8_t>{2, 8}), {}};
}

TEST_F(NumericKernelsOnGpu, FaultFailsTheJobsWithThatFirstByteAndCopiesTheOthers) {
  const Stage stage = stage_of("fault:byte=2");
  const LaunchedBatch sut(stage, Place::device, marked_jobs());
  runs(sut);
  EXPECT_EQ(sut.status(0), OVERLAP_ITEM_OK);
  EXPECT_EQ(elements_of<std::uint8_t>(sut.output(0, 3)), (std::vector<std::uint8_t>{1, 9, 9}));
  EXPECT_EQ(sut.status(1), OVERLAP_ITEM_FAILED);
  EXPECT_EQ(elements_of<std::uint8_t>(sut.output(1, 2)),
            (std::vector<std::uint8_t>{kCanary, kCanary}));
  EXPECT_EQ(sut.status(2), OVERLAP_ITEM_OK);
}

TEST_F(NumericKernelsOnGpu, FaultSaysThatAnOutputIsTooSmallAndWhatItNeeds) {
  const Stage stage = stage_of("fault:kind=too_small");
  const LaunchedBatch sut(stage, Place::device, marked_jobs());
  runs(sut);
  EXPECT_EQ(sut.status(0), OVERLAP_ITEM_OUTPUT_TOO_SMALL);
  EXPECT_EQ(sut.output_bytes(0), 4U);
  EXPECT_EQ(sut.status(1), OVERLAP_ITEM_OUTPUT_TOO_SMALL);
  EXPECT_EQ(sut.output_bytes(1), 3U);
}

TEST_F(NumericKernelsOnGpu, FaultCannotBeLaunchedWhereAskedNotToBe) {
  const Stage stage = stage_of("fault:kind=launch");
  const LaunchedBatch sut(stage, Place::device, marked_jobs());
  EXPECT_EQ(sut.launch(stream_->get()), cudaErrorInvalidValue);
  EXPECT_EQ(cudaGetLastError(), cudaSuccess) << "nothing is left behind for a later call";
}

using NumericKernelsOnGpuDeathTest = NumericKernelsOnGpu;

TEST_F(NumericKernelsOnGpuDeathTest, FaultTrapLosesTheContext) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  EXPECT_EXIT(
      {
        const Stage stage = stage_of("fault:kind=trap,byte=2");
        // Never destroyed: with a lost context nothing can be freed.
        auto* const sut = new LaunchedBatch(stage, Place::device, marked_jobs());
        const int launched = sut->launch(stream_->get());
        const cudaError_t ended = cudaStreamSynchronize(stream_->get());
        std::fprintf(stderr, "launched %d, ended %s\n", launched, cudaGetErrorName(ended));
        ::_exit(0);  // no CUDA destructor runs
      },
      ::testing::ExitedWithCode(0), "launched 0, ended cudaError");
}

#endif

}  // namespace
}  // namespace overlap::test
