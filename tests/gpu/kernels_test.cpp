#include "tests/gpu/kernel_subjects.hpp"
#include "tests/gpu/launched_batch.hpp"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <string>

namespace overlap::test {
namespace {

/// Elements of the many jobs in a long batch.
constexpr std::size_t kSmallElements = 1'100;
/// Of which the items travel in the launch itself.
constexpr std::size_t kInlineJobs = 16;

/// A positive number from the environment: a memory checker that takes its time is given less to do.
std::size_t number_or(const char* variable, std::size_t otherwise) {
  const char* const text = std::getenv(variable);
  return text == nullptr ? otherwise : std::max<std::size_t>(std::stoul(text), 1);
}

/// Of any job; fewer with OVERLAP_MOST_ELEMENTS set.
std::size_t most_elements(const KernelSubject& subject) {
  return std::min(subject.most_elements, number_or("OVERLAP_MOST_ELEMENTS", subject.most_elements));
}

/// The awkward counts of granules, as far as a job stays within `most_elements`; the first always.
std::vector<std::size_t> granule_counts(const KernelSubject& subject, std::size_t most_elements) {
  std::vector<std::size_t> counts;
  for (const std::size_t count : kAwkwardCounts) {
    if (counts.empty() || count * subject.granule_elements <= most_elements) {
      counts.push_back(count);
    }
  }
  return counts;
}

class KernelsOnGpu : public testing::Test {
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

  void expect_equal(const KernelSubject& subject, Place place,
                    std::vector<std::vector<std::byte>> inputs) {
    const std::string what = subject.text + (place == Place::device ? " in device" : " in pinned") +
                             " memory, " + std::to_string(inputs.size()) + " jobs";
    const Pipeline pipeline = Pipeline::parse(subject.text, registry_);
    const LaunchedBatch sut(pipeline.stages().front(), place, std::move(inputs), subject.table);
    ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess) << what;
    ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess) << what;
    ASSERT_TRUE(sut.matches_reference(subject.difference ? subject.difference
                                                         : same_elements(subject.kind)))
        << what;
  }

  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
  std::unique_ptr<Stream> stream_;
};

/// All subjects of one kernel, or every n-th with OVERLAP_EVERY_NTH_SUBJECT set.
class EachKernelOnGpu : public KernelsOnGpu, public testing::WithParamInterface<std::string> {
 protected:
  [[nodiscard]] static std::string kernel_of(const KernelSubject& subject) {
    return subject.text.substr(0, subject.text.find(':'));
  }
  [[nodiscard]] static std::vector<KernelSubject> subjects() {
    const std::size_t step = number_or("OVERLAP_EVERY_NTH_SUBJECT", 1);
    std::vector<KernelSubject> own;
    std::size_t seen = 0;
    for (const KernelSubject& subject : kernel_subjects()) {
      if (kernel_of(subject) == GetParam() && seen++ % step == 0) {
        own.push_back(subject);
      }
    }
    return own;
  }

 public:
  [[nodiscard]] static std::vector<std::string> kernels() {
    std::set<std::string> names;
    for (const KernelSubject& subject : kernel_subjects()) {
      names.insert(kernel_of(subject));
    }
    return {names.begin(), names.end()};
  }
};

INSTANTIATE_TEST_SUITE_P(All, EachKernelOnGpu, testing::ValuesIn(EachKernelOnGpu::kernels()),
                         [](const auto& kernel) { return kernel.param; });

TEST_P(EachKernelOnGpu, EqualsTheReferenceForEverySizeInEitherMemory) {
  for (const KernelSubject& subject : subjects()) {
    for (const Place place : {Place::device, Place::pinned}) {
      for (const std::size_t count : granule_counts(subject, most_elements(subject))) {
        expect_equal(subject, place, {subject.input(count)});
        if (HasFatalFailure()) {
          FAIL() << count << " granules";
        }
      }
    }
  }
}

TEST_P(EachKernelOnGpu, EqualsTheReferenceForBatchesOfEveryLength) {
  for (const KernelSubject& subject : subjects()) {
    const std::vector<std::size_t> small = granule_counts(subject, kSmallElements);
    const std::size_t large =
        granule_counts(subject, std::min<std::size_t>(most_elements(subject), 60'000)).back();
    for (const std::size_t jobs :
         {std::size_t{1}, std::size_t{3}, std::size_t{16}, std::size_t{17}, std::size_t{300}}) {
      if (jobs > kInlineJobs + 1 && subject.granule_elements > kSmallElements) {
        continue;  // its reference would take minutes, and the way of the items is the same
      }
      std::vector<std::vector<std::byte>> inputs;
      for (std::size_t job = 0; job < jobs; ++job) {
        // Sizes in turn, 0 among them, and one large job among small ones.
        const std::size_t count = job % 7 == 5 ? 0 : job == 2 ? large : small[job % small.size()];
        inputs.push_back(subject.input(count, static_cast<std::uint32_t>(job)));
      }
      for (const Place place : {Place::device, Place::pinned}) {
        expect_equal(subject, place, inputs);
        if (HasFatalFailure()) {
          return;
        }
      }
    }
  }
}

TEST_F(KernelsOnGpu, LaunchNothingForABatchOfEmptyJobs) {
  for (const KernelSubject& subject : kernel_subjects()) {
    expect_equal(subject, Place::device, {{}, {}});
  }
}

TEST_F(KernelsOnGpu, LeaveNoErrorBehindForALaterCall) {
  const Pipeline pipeline = Pipeline::parse("copy", registry_);
  const LaunchedBatch sut(pipeline.stages().front(), Place::device,
                          {awkward_input(ElementKind::u8, 100)});
  auto* const no_stream = reinterpret_cast<cudaStream_t>(std::uintptr_t{2});  // per-thread default
  EXPECT_EQ(sut.launch(no_stream), cudaSuccess);
  EXPECT_EQ(cudaDeviceSynchronize(), cudaSuccess);
  overlap_batch batch{};
  batch.item_count = 17;
  batch.max_input_bytes = 1;
  EXPECT_EQ(pipeline.stages().front().kernel->launch(batch, stream_->get()), cudaErrorInvalidValue)
      << "a large batch needs the items as the GPU reads them";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(KernelsOnGpu, ReportNoErrorOfAnotherCall) {
  const Pipeline pipeline = Pipeline::parse("copy", registry_);
  const LaunchedBatch sut(pipeline.stages().front(), Place::device,
                          {awkward_input(ElementKind::u8, 100)});
  ASSERT_NE(cudaSetDevice(-1), cudaSuccess);
  EXPECT_EQ(sut.launch(stream_->get()), cudaSuccess);
  EXPECT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  (void)cudaGetLastError();
}

// By construction, not by stopwatch: the input changes after the first pass was seen to be written;
// only a kernel that reads it again can end with the new sum.
TEST_F(KernelsOnGpu, VectorAddReadsItsInputsAgainOnLaterPasses) {
  const Pipeline pipeline = Pipeline::parse("vector_add:repeat=100000", registry_);
  for (const std::size_t sums : {std::size_t{4}, std::size_t{3}}) {
    const LaunchedBatch sut(pipeline.stages().front(), Place::pinned,
                            {bytes_of(std::vector<float>(2 * sums, 1.0F))});
    ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess);
    while (sut.pinned_output()[0] != 2.0F && cudaStreamQuery(stream_->get()) == cudaErrorNotReady) {
    }
    sut.pinned_input()[0] = 5.0F;
    ASSERT_EQ(cudaStreamQuery(stream_->get()), cudaErrorNotReady)
        << "100000 passes over the bus ended before the host could change the input";
    ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
    EXPECT_EQ(sut.pinned_output()[0], 6.0F) << sums << " sums";
  }
}

}  // namespace
}  // namespace overlap::test
