// Source kernels compiled for the GPU that is here, and run on it.

#include "daemon/source/source_kernels.hpp"
#include "tests/bench/temporary_folder.hpp"
#include "tests/gpu/launched_batch.hpp"
#include "tests/unit/text_log.hpp"

#include <cuda_fp16.h>
#include <gtest/gtest.h>

#include <sys/stat.h>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

namespace overlap::test {
namespace {

using Reference = std::function<std::uint64_t(const ReferenceJob&)>;

/// A source kernel, which has no reference of its own, with one that the test wrote.
class JudgedKernel final : public Kernel {
 public:
  JudgedKernel(const Kernel& kernel, Reference reference)
      : kernel_(kernel), reference_(std::move(reference)) {}

  [[nodiscard]] std::string_view name() const noexcept override { return kernel_.name(); }
  [[nodiscard]] std::string_view summary() const noexcept override { return kernel_.summary(); }
  [[nodiscard]] std::span<const Parameter> parameters() const noexcept override {
    return kernel_.parameters();
  }
  [[nodiscard]] std::uint64_t granule_bytes(ParameterView params) const noexcept override {
    return kernel_.granule_bytes(params);
  }
  [[nodiscard]] PlanOrRefusal plan(ParameterView params, std::uint64_t bytes) const override {
    return kernel_.plan(params, bytes);
  }
  void run(const overlap_batch& batch) const override { kernel_.run(batch); }
  [[nodiscard]] bool has_cuda() const noexcept override { return kernel_.has_cuda(); }
  [[nodiscard]] int launch(const overlap_batch& batch, OpaqueStream stream) const override {
    return kernel_.launch(batch, stream);
  }
  std::uint64_t reference(const ReferenceJob& job) const override { return reference_(job); }

 private:
  const Kernel& kernel_;
  Reference reference_;
};

/// A reference that puts a function on every element.
template <class Input, class Output, class Map>
Reference each(const Map& map) {
  return [map](const ReferenceJob& job) {
    const std::size_t count = job.input.size() / sizeof(Input);
    for (std::size_t index = 0; index < count; ++index) {
      Input x;
      std::memcpy(&x, job.input.data() + index * sizeof x, sizeof x);
      const Output y = map(job.params, x);
      std::memcpy(job.output.data() + index * sizeof y, &y, sizeof y);
    }
    return std::uint64_t{count * sizeof(Output)};
  };
}

float soft_clip(ParameterView params, float x) {
  const float part = x / static_cast<float>(params[0].f64);
  return x / std::sqrt(1.0F + part * part);
}

std::uint8_t threshold(ParameterView params, std::uint8_t x) {
  return (x >= params[0].i64) == (params[1].choice_index == 0) ? 255 : 0;
}

float half_gain(ParameterView params, std::int16_t x) {
  return __half2float(__float2half_rn(static_cast<float>(params[0].f64) * static_cast<float>(x)));
}

/// In the order of the example's sums: four columns a thread, a tree a warp, the warps in turn.
std::uint64_t row_sums(const ReferenceJob& job) {
  constexpr std::size_t kColumns = 1024;
  const auto values = elements_of<float>(job.input);
  const auto weights = elements_of<float>(job.table);
  const std::size_t rows = values.size() / kColumns;
  for (std::size_t row = 0; row < rows; ++row) {
    auto total = static_cast<float>(job.params[0].f64);
    for (std::size_t warp = 0; warp < 8; ++warp) {
      std::array<float, 32> sums{};
      for (std::size_t lane = 0; lane < 32; ++lane) {
        const std::size_t column = (warp * 32 + lane) * 4;
        const float* const value = &values[row * kColumns + column];
        const float* const weight = &weights[column];
        sums[lane] = value[0] * weight[0] + value[1] * weight[1] + value[2] * weight[2] +
                     value[3] * weight[3];
      }
      for (std::size_t distance = 16; distance != 0; distance /= 2) {
        for (std::size_t lane = 0; lane < distance; ++lane) {
          sums[lane] += sums[lane + distance];
        }
      }
      total += sums[0];
    }
    std::memcpy(job.output.data() + row * sizeof total, &total, sizeof total);
  }
  return rows * sizeof(float);
}

class SourceKernelOnGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    int devices = 0;
    const cudaError_t status = cudaGetDeviceCount(&devices);
    if (status != cudaSuccess || devices == 0) {
      (void)cudaGetLastError();
      GTEST_SKIP() << "no GPU: cudaGetDeviceCount says " << cudaGetErrorName(status);
    }
    stream_ = std::make_unique<Stream>();
    try {
      static_cast<void>(make_source_toolchain(0, std::nullopt));
    } catch (const std::runtime_error& error) {
      GTEST_SKIP() << error.what();
    }
  }

  std::string write(const std::string& name, const std::string& text) {
    const std::string path = folder_.path() + "/" + name;
    std::ofstream(path, std::ios::binary) << text;
    ::chmod(path.c_str(), 0600);
    return path;
  }
  std::string write_example(const std::string& name) {
    std::ifstream file(std::string(OVERLAP_SOURCE_EXAMPLES) + "/" + name, std::ios::binary);
    return write(name, {std::istreambuf_iterator<char>(file), {}});
  }
  /// Compiles and registers; the object itself is needed only for a reload.
  SourceKernels load(std::vector<std::string> files) {
    SourceKernels kernels(std::move(files), make_source_toolchain(0, std::nullopt),
                          KernelCache(folder_.path() + "/cache", log_.logger()), registry_,
                          log_.logger());
    kernels.load();
    return kernels;
  }
  std::string error_of(const std::string& file) {
    try {
      static_cast<void>(load({file}));
    } catch (const SourceError& error) {
      return error.what();
    }
    return {};
  }

  void expect_equal(const std::string& text, const Reference& reference, ElementKind input,
                    ElementKind output, std::vector<std::size_t> counts,
                    const std::vector<std::byte>& table = {}) {
    const Pipeline pipeline = Pipeline::parse(text, registry_);
    const JudgedKernel judged(*pipeline.stages()[0].kernel, reference);
    const Stage stage{&judged, pipeline.stages()[0].params};
    std::vector<std::vector<std::byte>> inputs;
    for (const std::size_t count : counts) {
      inputs.push_back(awkward_input(input, count, static_cast<std::uint32_t>(inputs.size() + 1)));
    }
    for (const Place place : {Place::device, Place::pinned}) {
      const LaunchedBatch sut(stage, place, inputs, table);
      ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess) << text;
      ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess) << text;
      ASSERT_TRUE(sut.matches_reference(output))
          << text << ", " << counts.size() << " jobs, first " << counts.front();
    }
  }

  /// Every awkward count alone, and batches of every length with 0 among the counts.
  void expect_equal_everywhere(const std::string& text, const Reference& reference,
                               ElementKind input, ElementKind output) {
    for (const std::size_t count : kAwkwardCounts) {
      expect_equal(text, reference, input, output, {count});
    }
    for (const std::size_t jobs : {2U, 8U, 9U, 300U}) {
      std::vector<std::size_t> counts;
      for (std::size_t job = 0; job < jobs; ++job) {
        counts.push_back(job == 1 ? 100'003 : (job * 37) % 1'100);
      }
      expect_equal(text, reference, input, output, counts);
    }
  }

  bench::TemporaryFolder folder_;
  testing::TextLog log_;
  KernelRegistry registry_ = KernelRegistry::with_builtin_kernels();
  std::unique_ptr<Stream> stream_;
};

TEST_F(SourceKernelOnGpu, OfFloatsEqualsItsReference) {
  const auto kernels = load({write_example("soft_clip.cu")});
  for (const char* const text : {"soft_clip", "soft_clip:limit=0.001", "soft_clip:limit=1000"}) {
    expect_equal_everywhere(text, each<float, float>(soft_clip), ElementKind::f32,
                            ElementKind::f32);
  }
}

TEST_F(SourceKernelOnGpu, OfBytesEqualsItsReference) {
  const auto kernels = load({write_example("threshold.cu")});
  for (const char* const text :
       {"threshold", "threshold:level=0", "threshold:level=7,what=below"}) {
    expect_equal_everywhere(text, each<std::uint8_t, std::uint8_t>(threshold), ElementKind::u8,
                            ElementKind::u8);
  }
}

TEST_F(SourceKernelOnGpu, WithAHeaderOfTheToolkitAndAWiderResultEqualsItsReference) {
  const auto kernels = load({write_example("half_gain.cu")});
  for (const char* const text : {"half_gain", "half_gain:gain=-0.3", "half_gain:gain=16"}) {
    expect_equal_everywhere(text, each<std::int16_t, float>(half_gain), ElementKind::i16,
                            ElementKind::f32);
  }
}

TEST_F(SourceKernelOnGpu, OfABatchEqualsItsReference) {
  const auto kernels = load({write_example("row_sums.cu")});
  const std::vector<std::byte> table = awkward_input(ElementKind::i16, 2048, 9);
  for (const char* const text : {"row_sums", "row_sums:bias=-2.5"}) {
    for (const std::size_t rows : {1U, 2U, 3U, 131U, 3001U}) {
      expect_equal(text, row_sums, ElementKind::f32, ElementKind::f32, {rows * 1024}, table);
    }
    expect_equal(text, row_sums, ElementKind::f32, ElementKind::f32,
                 {1024, 0, 5 * 1024, 700 * 1024, 1024, 0, 2048, 1024, 3 * 1024, 1024}, table);
  }
}

TEST_F(SourceKernelOnGpu, LaunchesNothingForABatchOfEmptyJobs) {
  const auto kernels = load({write_example("soft_clip.cu")});
  expect_equal("soft_clip", each<float, float>(soft_clip), ElementKind::f32, ElementKind::f32,
               {0, 0});
}

TEST_F(SourceKernelOnGpu, LeavesNoErrorBehindForALaterCall) {
  const auto kernels = load({write_example("soft_clip.cu")});
  const Kernel& kernel = *registry_.find("soft_clip");
  overlap_batch batch{};
  batch.item_count = 9;
  batch.max_input_bytes = 4;
  EXPECT_EQ(kernel.launch(batch, stream_->get()), cudaErrorInvalidValue)
      << "a large batch needs the items as the GPU reads them";
  EXPECT_EQ(cudaGetLastError(), cudaSuccess);
}

TEST_F(SourceKernelOnGpu, ComesFromTheCacheTheNextTimeAndRunsTheSame) {
  const std::string file = write_example("soft_clip.cu");
  {
    const auto kernels = load({file});
    EXPECT_TRUE(log_.has("compiled in")) << log_.text();
    registry_ = KernelRegistry::with_builtin_kernels();
  }
  log_.clear();
  const auto kernels = load({file});
  EXPECT_TRUE(log_.has("found in the cache")) << log_.text();
  expect_equal("soft_clip", each<float, float>(soft_clip), ElementKind::f32, ElementKind::f32,
               {1'000});
}

TEST_F(SourceKernelOnGpu, IsReplacedWhileTheOldOneGoesOn) {
  const std::string head = "//! kernel f \"f\"\n//! element f i32 -> i32\n";
  auto kernels = load({write("f.cu", head + "__device__ int f(int x) { return x ^ 1; }\n")});
  const Kernel* const old_kernel = registry_.find("f");
  write("f.cu", head + "__device__ int f(int x) { return x ^ 2; }\n");
  kernels.rebuild();
  kernels.apply();
  const auto flip = [](std::int32_t bit) {
    return each<std::int32_t, std::int32_t>(
        [bit](ParameterView, std::int32_t x) { return x ^ bit; });
  };
  expect_equal("f", flip(2), ElementKind::i32, ElementKind::i32, {1'000});
  const JudgedKernel judged(*old_kernel, flip(1));
  const Stage stage{&judged, {}};
  const LaunchedBatch sut(stage, Place::device, {awkward_input(ElementKind::i32, 1'000)});
  ASSERT_EQ(sut.launch(stream_->get()), cudaSuccess);
  ASSERT_EQ(cudaStreamSynchronize(stream_->get()), cudaSuccess);
  EXPECT_TRUE(sut.matches_reference(ElementKind::i32));
}

TEST_F(SourceKernelOnGpu, NamesTheLineThatDoesNotCompile) {
  const std::string file = write("f.cu",
                                 "//! kernel f \"f\"\n//! element f i32 -> i32\n"
                                 "__device__ int f(int x) {\n  return y;\n}\n");
  EXPECT_NE(error_of(file).find(file + ":4: error: "), std::string::npos) << error_of(file);
}

TEST_F(SourceKernelOnGpu, RefusesMoreThreadsThanTheCodeCanHave) {
  const std::string file = write("f.cu",
                                 "//! kernel f \"f\"\n//! batch f\n//! threads 256\n"
                                 "__global__ void __launch_bounds__(128)\n"
                                 "    f(const __grid_constant__ overlap::Batch batch) {}\n");
  EXPECT_NE(error_of(file).find("can have 128 threads a block, not the 256"), std::string::npos)
      << error_of(file);
}

}  // namespace
}  // namespace overlap::test
