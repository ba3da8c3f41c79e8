#include "kernels/fft/fft.hpp"
#include "kernels/gemm/gemm.hpp"
#include "tests/gpu/launched_batch.hpp"
#include "tests/gpu/stateful_channels.hpp"
#include "tests/kernels/relative_error.hpp"

#include <thread>

namespace overlap::test {
namespace {

/// The kernels of our own plug-ins, linked in: what they open at run time is what a plug-in opens.
class PluginKernelsOnGpu : public testing::Test {
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

  /// @return false, and the test is skipped, where the vendor's library is not installed
  [[nodiscard]] bool is_prepared(const Stage& stage, std::uint64_t input_bytes) const {
    const auto refusal = stage.kernel->prepare(stage.params, input_bytes, true);
    if (refusal && refusal->text.find("cannot be opened") != std::string::npos) {
      return false;
    }
    EXPECT_FALSE(refusal.has_value()) << refusal->text;
    return true;
  }

  [[nodiscard]] Stage fft_stage(std::int64_t n, FftType type, bool inverse = false,
                                double scale = 1) const {
    return {&fft_,
            {{.i64 = n},
             {.choice_index = static_cast<std::uint64_t>(type)},
             {.choice_index = inverse ? 1U : 0U},
             {.f64 = scale}}};
  }

  void expect_close(const Stage& stage, const std::vector<std::size_t>& transforms) {
    const FftParams wanted = FftParams::from(stage.params);
    const std::size_t floats = wanted.input_bytes() / sizeof(float);
    std::vector<std::vector<std::byte>> inputs;
    for (const std::size_t count : transforms) {
      inputs.push_back(uniform_input(count * floats, static_cast<std::uint32_t>(inputs.size())));
    }
    const LaunchedBatch sut(stage, Place::device, std::move(inputs));
    ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess);
    ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
    ASSERT_TRUE(sut.matches_reference(close_transforms(static_cast<std::size_t>(wanted.n),
                                                       wanted.output_bytes() / sizeof(float))))
        << "n " << wanted.n << ", type " << static_cast<int>(wanted.type) << ", inverse "
        << wanted.inverse << ", " << transforms.size() << " jobs";
  }

  FftKernel fft_;
  GemmKernel gemm_;
  std::unique_ptr<Stream> stream_;
};

TEST_F(PluginKernelsOnGpu, FftIsCloseToTheReferenceForEveryLengthAndType) {
  for (const std::int64_t n :
       {1,   2,   3,   4,    5,    8,    15,   16,   31,     67,     100,
        127, 243, 256, 1000, 1009, 1024, 4096, 4099, 10'000, 65'536, 262'147}) {
    for (const Stage& stage : {fft_stage(n, FftType::c2c), fft_stage(n, FftType::c2c, true, 0.37),
                               fft_stage(n, FftType::r2c)}) {
      const std::uint64_t bytes = FftParams::from(stage.params).input_bytes();
      if (!is_prepared(stage, 3 * bytes)) {
        GTEST_SKIP() << "cuFFT is not installed";
      }
      expect_close(stage, n < 10'000 ? std::vector<std::size_t>{3, 1, 0, 5, 8, 1, 1}
                                     : std::vector<std::size_t>{1, 2});
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST_F(PluginKernelsOnGpu, FftJoinsJobsThatLieSideBySide) {
  // 256 complex points are 2 KiB, so that jobs of the batch follow each other without a gap; the
  // outputs have canaries between them, which also keep the runs apart.
  const Stage stage = fft_stage(256, FftType::c2c);
  if (!is_prepared(stage, 2048)) {
    GTEST_SKIP() << "cuFFT is not installed";
  }
  expect_close(stage, std::vector<std::size_t>(300, 1));
  expect_close(stage, {1000, 1, 77});
}

TEST_F(PluginKernelsOnGpu, FftMovesSmallJobsThatHaveGapsBetweenThem) {
  // 100 values are no multiple of 256 bytes, which leaves gaps between the inputs too; 4099 is a
  // prime, for which cuFFT wants much workspace.
  for (const std::int64_t n : {1, 3, 100, 101, 1024, 4099}) {
    for (const Stage& stage : {fft_stage(n, FftType::c2c), fft_stage(n, FftType::c2c, true, 0.37),
                               fft_stage(n, FftType::r2c, false, 3)}) {
      if (!is_prepared(stage, 9 * FftParams::from(stage.params).input_bytes())) {
        GTEST_SKIP() << "cuFFT is not installed";
      }
      expect_close(stage, std::vector<std::size_t>(n < 4099 ? 300 : 20, 3));
      expect_close(stage, {2, 2, 2, 2, 5, 9, 9, 9, 0, 0, 9, 9, 1});
      if (HasFailure()) {
        return;
      }
    }
  }
}

TEST_F(PluginKernelsOnGpu, FftMovesJobsWhoseSizesAreKnownOnTheGpuAlone) {
  for (const Stage& stage : {fft_stage(100, FftType::c2c), fft_stage(101, FftType::r2c)}) {
    const FftParams wanted = FftParams::from(stage.params);
    if (!is_prepared(stage, 3 * wanted.input_bytes())) {
      GTEST_SKIP() << "cuFFT is not installed";
    }
    StatefulChannels sut(stage, 1, 3 * wanted.input_bytes());
    std::vector<ChannelJob> jobs;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
      jobs.push_back({0, uniform_input(3 * wanted.input_bytes() / sizeof(float), seed)});
    }
    sut.run(jobs, stream_->get(), true);
    for (const ChannelJob& job : jobs) {
      std::vector<std::byte> expected(3 * wanted.output_bytes());
      fft_.reference({stage.params, job.input, expected});
      ASSERT_EQ(close_transforms(static_cast<std::size_t>(wanted.n),
                                 wanted.output_bytes() / sizeof(float))(job.output, expected),
                "");
    }
  }
}

TEST_F(PluginKernelsOnGpu, FftMakesPlansOfOneLengthWhileOthersAreLaunched) {
  const Stage stage = fft_stage(512, FftType::r2c);
  if (!is_prepared(stage, 2048)) {
    GTEST_SKIP() << "cuFFT is not installed";
  }
  // More lengths than are kept, so that the plans in use go and come back.
  std::thread maker([this] {
    for (std::int64_t n = 2; n < 80; n += 2) {
      const Stage other = fft_stage(n, FftType::c2c);
      EXPECT_FALSE(fft_.prepare(other.params, static_cast<std::uint64_t>(n) * 8, true).has_value());
    }
  });
  for (int round = 0; round < 20; ++round) {
    expect_close(stage, {1, 1, 1, 4, 4, 7});
  }
  maker.join();
}

TEST_F(PluginKernelsOnGpu, FftGivesTheSameForJoinedAndForSingleTransforms) {
  constexpr std::size_t kTransforms = 45;
  const Stage stage = fft_stage(32, FftType::c2c);
  if (!is_prepared(stage, 256)) {
    GTEST_SKIP() << "cuFFT is not installed";
  }
  // 32 complex points are 256 bytes: by hand, with inputs and outputs side by side.
  const std::vector<std::byte> input = uniform_input(64 * kTransforms, 3);
  const GpuBytes in(Place::device, input.size());
  const GpuBytes out(Place::device, input.size());
  check(cudaMemcpy(in.device(), input.data(), input.size(), cudaMemcpyDefault), "cudaMemcpy");
  const auto workspace_bytes = fft_workspace_bytes(32, 1) * kTransforms;
  const GpuBytes workspace(Place::device, workspace_bytes);
  std::vector<overlap_batch_item> items(kTransforms);
  for (std::size_t index = 0; index < items.size(); ++index) {
    items[index].input = in.device() + 256 * index;
    items[index].input_bytes = 256;
    items[index].output = out.device() + 256 * index;
    items[index].output_capacity_bytes = 256;
  }
  const overlap_batch batch{sizeof(overlap_batch),
                            sizeof(overlap_batch_item),
                            kTransforms,
                            static_cast<std::uint32_t>(stage.params.size()),
                            items.data(),
                            nullptr,
                            stage.params.data(),
                            256,
                            workspace.device(),
                            workspace_bytes,
                            0,
                            0};
  check(cudaDeviceSynchronize(), "cudaDeviceSynchronize");
  ASSERT_EQ(fft_.launch(batch, stream_->get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  std::vector<std::byte> got(input.size());
  std::vector<std::byte> unchanged(input.size());
  check(cudaMemcpy(got.data(), out.device(), got.size(), cudaMemcpyDefault), "cudaMemcpy");
  check(cudaMemcpy(unchanged.data(), in.device(), input.size(), cudaMemcpyDefault), "cudaMemcpy");
  EXPECT_EQ(unchanged, input) << "wrote to its input";
  std::vector<std::byte> expected(input.size());
  fft_.reference({stage.params, input, expected});
  EXPECT_EQ(close_transforms(32, 64)(got, expected), "");
}

TEST_F(PluginKernelsOnGpu, FftServesStreamsThatShareAPlan) {
  const Stage stage = fft_stage(4096, FftType::r2c);
  if (!is_prepared(stage, 16'384)) {
    GTEST_SKIP() << "cuFFT is not installed";
  }
  const Stream other;
  const LaunchedBatch first(stage, Place::device, {uniform_input(4096 * 40, 1)});
  const LaunchedBatch second(stage, Place::device, {uniform_input(4096 * 40, 2)});
  for (int round = 0; round < 20; ++round) {
    ASSERT_EQ(first.launch(stream_->get()), cudaSuccess);
    ASSERT_EQ(second.launch(other.get()), cudaSuccess);
  }
  ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(other.get()), cudaSuccess);
  EXPECT_TRUE(first.matches_reference(close_transforms(4096, 2 * 2049)));
  EXPECT_TRUE(second.matches_reference(close_transforms(4096, 2 * 2049)));
}

TEST_F(PluginKernelsOnGpu, GemmIsWithinItsBoundForEveryShape) {
  for (const std::size_t k : {1U, 3U, 64U, 257U}) {
    for (const std::size_t n : {1U, 2U, 33U, 130U}) {
      const Stage stage{
          &gemm_, {{.i64 = static_cast<std::int64_t>(k)}, {.i64 = static_cast<std::int64_t>(n)}}};
      if (!is_prepared(stage, k * sizeof(float))) {
        GTEST_SKIP() << "cuBLAS is not installed";
      }
      std::vector<std::vector<std::byte>> inputs;
      for (const std::size_t rows : {1U, 2U, 3U, 17U, 100U, 0U, 64U, 64U}) {
        inputs.push_back(uniform_input(rows * k, static_cast<std::uint32_t>(inputs.size())));
      }
      const std::vector<std::byte> table = uniform_input(k * n, 99);
      const LaunchedBatch sut(stage, Place::device, inputs, table);
      ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess);
      ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
      // The comparison is called with the jobs in their order, the empty one among them.
      std::size_t job = 0;
      EXPECT_TRUE(sut.matches_reference([&](std::span<const std::byte> got,
                                            std::span<const std::byte> /*expected*/) {
        return gemm_difference(inputs[job++], table, k, n, got);
      })) << k
          << " x " << n;
    }
  }
}

}  // namespace
}  // namespace overlap::test
