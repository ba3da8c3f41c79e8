#include "tests/kernels/kernel_batch.hpp"

#include <atomic>
#include <numeric>
#include <thread>

namespace overlap::test {
namespace {

using Counts = std::vector<std::uint32_t>;
using Floats = std::vector<float>;

template <class Element>
Counts counts_of(std::string_view text, const std::vector<Element>& input) {
  return elements_of<std::uint32_t>(reference_of(text, bytes_of(input)));
}

ElementKind kind_of(std::string_view text) {
  return text.find("f32") == std::string_view::npos ? ElementKind::u8 : ElementKind::f32;
}

constexpr std::string_view kTexts[] = {"histogram",
                                       "histogram:bins=1",
                                       "histogram:bins=10",
                                       "histogram:bins=255",
                                       "histogram:type=f32",
                                       "histogram:type=f32,bins=1,lower=-3e38,upper=3e38",
                                       "histogram:type=f32,bins=7,lower=-2,upper=0.1",
                                       "histogram:type=f32,bins=65536,lower=-1e30,upper=1e30",
                                       "histogram:type=f32,bins=1000,lower=1e-45,upper=2e-38"};

TEST(HistogramKernel, EqualsTheReferenceForEveryTypeRangeAndSize) {
  for (const std::string_view text : kTexts) {
    for (const std::size_t count : kAwkwardCounts) {
      KernelBatch sut(stage_of(text), {awkward_input(kind_of(text), count)});
      sut.run();
      ASSERT_TRUE(sut.matches_reference(ElementKind::i32)) << text << ", " << count << " elements";
    }
  }
}

TEST(HistogramKernel, RunsJobsOfDifferentSizesInOneBatch) {
  for (const std::string_view text : {"histogram:bins=64", "histogram:type=f32,bins=3"}) {
    KernelBatch sut(stage_of(text), {awkward_input(kind_of(text), 2050, 1),
                                     {},
                                     awkward_input(kind_of(text), 1, 2),
                                     awkward_input(kind_of(text), 4097, 3)});
    sut.run();
    EXPECT_TRUE(sut.matches_reference(ElementKind::i32)) << text;
  }
}

TEST(HistogramKernel, ReferenceCountsBytes) {
  Counts expected(256);
  expected[0] = 2;
  expected[7] = 1;
  expected[255] = 3;
  EXPECT_EQ(counts_of<std::uint8_t>("histogram", {255, 0, 7, 255, 0, 255}), expected);
  EXPECT_EQ(counts_of<std::uint8_t>("histogram:bins=2", {0, 127, 128, 255}), (Counts{2, 2}));
  EXPECT_EQ(counts_of<std::uint8_t>("histogram:bins=3", {0, 85, 86, 170, 171, 255}),
            (Counts{2, 2, 2}));
}

TEST(HistogramKernel, ReferenceIncludesTheLastEdgeAndNothingBeyond) {
  using Limits = std::numeric_limits<float>;
  const Floats input = {0.0F,
                        -0.0F,
                        0.24F,
                        0.25F,
                        0.5F,
                        0.75F,
                        1.0F,
                        std::nextafter(1.0F, 2.0F),
                        -Limits::denorm_min(),
                        Limits::quiet_NaN(),
                        Limits::infinity(),
                        -Limits::infinity(),
                        2.0F};
  EXPECT_EQ(counts_of("histogram:type=f32,bins=4", input), (Counts{3, 1, 1, 2}));
  EXPECT_EQ(counts_of("histogram:type=f32,bins=1", input), (Counts{7}));
  EXPECT_EQ(counts_of("histogram:type=f32,bins=2,lower=1,upper=3", input), (Counts{2, 1}));
}

TEST(HistogramKernel, CountsEveryElementOnceWhereTheRangeHoldsAll) {
  KernelBatch sut(stage_of("histogram:type=f32,bins=12289"), {bytes_of([] {
                    Floats values(100'003);
                    for (std::size_t i = 0; i < values.size(); ++i) {
                      values[i] = static_cast<float>(i) / 100'002.0F;
                    }
                    return values;
                  }())});
  sut.run();
  const auto counts = elements_of<std::uint32_t>(sut.output(0));
  EXPECT_EQ(std::accumulate(counts.begin(), counts.end(), 0U), 100'003U);
  EXPECT_TRUE(sut.matches_reference(ElementKind::i32));
}

TEST(HistogramKernel, MakesAFixedSizeAndNothingOfNothing) {
  const Stage stage = stage_of("histogram:bins=10");
  EXPECT_EQ(std::get<Plan>(stage.kernel->plan(stage.params, 1)).max_output_bytes, 40U);
  EXPECT_EQ(std::get<Plan>(stage.kernel->plan(stage.params, 12'345)).max_output_bytes, 40U);
  EXPECT_EQ(std::get<Plan>(stage.kernel->plan(stage.params, 0)).max_output_bytes, 0U);
}

TEST(HistogramKernel, RefusesWhatItCannotCount) {
  EXPECT_EQ(refusal_of("histogram:type=f32", 6),
            "6 bytes do not fit histogram: it takes whole granules of 4 bytes (one f32 element), "
            "and 2 bytes are left over; send 4 or 8 bytes");
  EXPECT_EQ(refusal_of("histogram", 1ULL << 32U),
            "4294967296 elements could exceed a count of 32 bits; send histogram at most "
            "4294967295");
  for (const auto& [text, says] :
       {std::pair("histogram:bins=257", "use at most bins=256"),
        std::pair("histogram:type=f32,lower=1,upper=1", "upper has to be above lower"),
        std::pair("histogram:type=f32,lower=2,upper=1", "lower=2,upper=1"),
        std::pair("histogram:type=f32,lower=-1.7e308,upper=1.7e308", "difference"),
        std::pair("histogram:type=f32,lower=0,upper=1e-320", "bins per unit finite")}) {
    try {
      (void)stage_of(text);
      ADD_FAILURE() << text;
    } catch (const PipelineError& error) {
      EXPECT_NE(std::string(error.what()).find(says), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW((void)stage_of("histogram:bins=0"), PipelineError);
  EXPECT_THROW((void)stage_of("histogram:type=f32,bins=65537"), PipelineError);
}

#if defined(__SANITIZE_THREAD__)
constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
constexpr bool kThreadSanitizer = true;
#else
constexpr bool kThreadSanitizer = false;
#endif
#else
constexpr bool kThreadSanitizer = false;
#endif

// A producer owns its memory: it may write there while the daemon reads.
TEST(HistogramKernel, StaysWithinItsOutputWhileItsInputIsFlipped) {
  if (kThreadSanitizer) {
    GTEST_SKIP() << "the race with the producer is the point, and ThreadSanitizer would report it";
  }
  for (const std::string_view text :
       {"histogram:bins=256", "histogram:type=f32,bins=65536,lower=-1e38,upper=1e38"}) {
    constexpr std::size_t kElements = 50'000;
    KernelBatch sut(stage_of(text), {awkward_input(kind_of(text), kElements)});
    std::atomic<bool> done = false;
    std::atomic<std::uint64_t> flips = 0;
    std::thread producer([&] {
      const auto input = sut.input_area(0);
      for (std::size_t i = 0; !done.load(std::memory_order_relaxed);
           i = (i + 4099) % input.size()) {
        auto& byte = reinterpret_cast<volatile std::uint8_t&>(input[i]);
        byte = static_cast<std::uint8_t>(byte ^ 0xffU);
        flips.fetch_add(1, std::memory_order_relaxed);
      }
    });
    for (int round = 0; round < 50 || flips.load() < 10'000; ++round) {
      sut.run();
      const auto counts = elements_of<std::uint32_t>(sut.output(0));
      const std::uint64_t counted = std::accumulate(counts.begin(), counts.end(), std::uint64_t{0});
      EXPECT_LE(counted, kElements) << text;
      const auto canaries = sut.output_area(0).subspan(sut.output(0).size());
      EXPECT_EQ(std::ranges::count(canaries, std::byte{0xa5}),
                static_cast<std::ptrdiff_t>(canaries.size()))
          << text;
    }
    done = true;
    producer.join();
  }
}

}  // namespace
}  // namespace overlap::test
