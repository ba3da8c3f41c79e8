#include "tests/gpu/stateful_channels.hpp"

namespace overlap::test {
namespace {

class SignalKernelsOnGpu : public testing::Test {
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

  [[nodiscard]] Stage stage(const std::string& text) const {
    return Pipeline::parse(text, registry_).stages().front();
  }

  /// Batches of random jobs of several channels, mixed, against the reference.
  void expect_equal(const std::string& text, std::size_t channels,
                    const std::vector<std::size_t>& floats, std::size_t batches, std::size_t jobs,
                    const std::vector<std::byte>& table = {}) {
    const std::size_t largest = *std::ranges::max_element(floats) * sizeof(float);
    StatefulChannels sut(stage(text), channels, largest, table);
    ReferenceChannels reference(stage(text), channels, largest, table);
    std::mt19937 random(5);
    std::uint32_t seed = 1;
    for (std::size_t batch = 0; batch < batches; ++batch) {
      std::vector<ChannelJob> all;
      for (std::size_t job = 0; job < jobs; ++job) {
        const std::size_t count = floats[random() % floats.size()];
        all.push_back({random() % channels, awkward_input(ElementKind::f32, count, seed++)});
      }
      sut.run(all, stream_->get(), batch % 2 == 1);
      for (std::size_t job = 0; job < jobs; ++job) {
        const std::vector<std::byte> expected = reference.output_of(all[job]);
        ASSERT_EQ(first_difference(ElementKind::f32, all[job].output, expected), "")
            << text << ", batch " << batch << ", job " << job << " of channel " << all[job].channel
            << ", " << all[job].input.size() / sizeof(float) << " floats";
      }
    }
  }

  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
  std::unique_ptr<Stream> stream_;
};

TEST_F(SignalKernelsOnGpu, FirCarriesTheSignalThroughJobsOfAnyLength) {
  for (const std::size_t taps : {2U, 5U, 100U, 1000U, 4096U}) {
    const std::vector<std::byte> table = awkward_input(ElementKind::f32, taps, 9);
    const std::string text = "fir:taps=" + std::to_string(taps);
    expect_equal(text, 1, {1, 2, 3, 0}, 3, 5, table);
    expect_equal(text, 1, {2047, 2048, 2049, 1, 100}, 3, 6, table);
    expect_equal(text, 3, {1, 7, 1024, 5000}, 3, 20, table);
    expect_equal(text + ",type=c32", 2, {2, 14, 2048, 2050, 8192}, 3, 17, table);
  }
}

TEST_F(SignalKernelsOnGpu, FirServesManyChannelsInOneBatch) {
  expect_equal("fir:taps=33", 40, {1, 64, 300}, 2, 300, awkward_input(ElementKind::f32, 33, 9));
  expect_equal("fir:taps=33", 3, {1, 2}, 1, 3000, awkward_input(ElementKind::f32, 33, 9));
}

TEST_F(SignalKernelsOnGpu, FirGivesTheSameForOneLongJobAndForMany) {
  const std::vector<std::byte> signal = awkward_input(ElementKind::f32, 100'001);
  const std::vector<std::byte> table = awkward_input(ElementKind::f32, 257, 9);
  StatefulChannels whole(stage("fir:taps=257"), 1, signal.size(), table);
  std::vector<ChannelJob> one = {{0, signal}};
  whole.run(one, stream_->get());
  StatefulChannels sut(stage("fir:taps=257"), 1, signal.size(), table);
  std::vector<std::byte> joined;
  std::size_t at = 0;
  for (std::size_t batch = 0; at < signal.size(); ++batch) {
    std::vector<ChannelJob> jobs;
    for (std::size_t job = 0; job < 9 && at < signal.size(); ++job) {
      const std::size_t bytes =
          std::min<std::size_t>(4 * (1 + (job * 977 + batch * 13) % 2500), signal.size() - at);
      const auto from = signal.begin() + static_cast<std::ptrdiff_t>(at);
      jobs.push_back({0, {from, from + static_cast<std::ptrdiff_t>(bytes)}});
      at += bytes;
    }
    sut.run(jobs, stream_->get());
    for (const ChannelJob& job : jobs) {
      joined.insert(joined.end(), job.output.begin(), job.output.end());
    }
  }
  EXPECT_EQ(first_difference(ElementKind::f32, joined, one[0].output), "");
}

TEST_F(SignalKernelsOnGpu, IntegrateSumsJobsWithinAndAcrossBatches) {
  for (const char* const text : {"integrate:count=2", "integrate:count=3,op=mean",
                                 "integrate:count=7", "integrate:count=1000000"}) {
    for (const std::size_t floats : {1U, 3U, 1023U, 2048U, 2049U, 100'003U}) {
      expect_equal(text, 1, {floats}, 4, 5);
      expect_equal(text, 3, {floats, 0}, 4, 20);
    }
  }
}

TEST_F(SignalKernelsOnGpu, IntegrateMakesAllSumsOfALongBatch) {
  expect_equal("integrate:count=1", 1, {2049}, 2, 100);
  expect_equal("integrate:count=7", 1, {2049}, 4, 100);
  expect_equal("integrate:count=16,op=mean", 2, {3, 3, 3, 0}, 3, 300);
  // More jobs than the links of which lie in shared memory.
  expect_equal("integrate:count=5", 1, {2, 2, 0}, 3, 3000);
  expect_equal("integrate:count=100000", 1, {2}, 3, 3000);
}

TEST_F(SignalKernelsOnGpu, IntegrateFailsJobsInTheMiddleOfALongBatch) {
  expect_equal("integrate:count=4", 1, {8, 8, 8, 8, 8, 8, 8, 9}, 6, 200);
  expect_equal("integrate:count=3", 1, {8, 8, 8, 8, 8, 8, 0, 2500}, 4, 3000);
}

TEST_F(SignalKernelsOnGpu, IntegrateFailsJobsOfAnotherLengthAsTheReferenceDoes) {
  expect_equal("integrate:count=2", 2, {1, 2, 3000}, 6, 30);
  expect_equal("integrate:count=3,op=mean", 5, {0, 8, 9}, 6, 40);
}

TEST_F(SignalKernelsOnGpu, IntegrateLeavesAStateOfZeroBytesAfterAFailure) {
  StatefulChannels sut(stage("integrate:count=2"), 1, 16'384);
  std::vector<ChannelJob> jobs;
  for (const std::size_t floats : {4096U, 4096U, 7U, 9U}) {
    jobs.push_back({0, bytes_of(std::vector<float>(floats, 1.0F))});
  }
  sut.run(jobs, stream_->get());
  EXPECT_EQ(jobs[1].output.size(), 16'384U);
  EXPECT_EQ(jobs[2].status, OVERLAP_ITEM_OK);
  EXPECT_EQ(jobs[3].status, OVERLAP_ITEM_FAILED);
  EXPECT_TRUE(jobs[3].output.empty());
  const std::vector<std::byte> state = sut.state(0);
  EXPECT_EQ(std::ranges::count(state, std::byte{}), static_cast<std::ptrdiff_t>(state.size()));
  std::vector<ChannelJob> again = {{0, bytes_of<float>({2})}, {0, bytes_of<float>({3})}};
  sut.run(again, stream_->get());
  EXPECT_EQ(elements_of<float>(again[1].output), (std::vector<float>{5}));
}

}  // namespace
}  // namespace overlap::test
