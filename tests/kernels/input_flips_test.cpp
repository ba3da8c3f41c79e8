// A producer may change its bytes while a kernel reads them: whatever comes out, nothing outside of
// the output is written and nothing outside of the input is read.

#include "tests/kernels/kernel_batch.hpp"

#include <atomic>
#include <thread>

#if defined(__has_feature)
#define OVERLAP_HAS_FEATURE(name) __has_feature(name)
#else
#define OVERLAP_HAS_FEATURE(name) 0
#endif

namespace overlap::test {
namespace {

#if defined(__SANITIZE_THREAD__) || OVERLAP_HAS_FEATURE(thread_sanitizer)
constexpr bool kRacesAreReported = true;
#else
constexpr bool kRacesAreReported = false;
#endif

/// Flips all bits of every byte, round and round, until it goes.
class Flipper {
 public:
  explicit Flipper(std::span<std::byte> bytes)
      : thread_([this, bytes] {
          while (!stop_.load(std::memory_order_relaxed)) {
            for (std::byte& byte : bytes) {
              auto& shared = reinterpret_cast<volatile std::uint8_t&>(byte);
              shared = static_cast<std::uint8_t>(~shared);
            }
            rounds_.fetch_add(1, std::memory_order_relaxed);
          }
        }) {}
  Flipper(const Flipper&) = delete;
  Flipper& operator=(const Flipper&) = delete;
  ~Flipper() {
    stop_.store(true, std::memory_order_relaxed);
    thread_.join();
  }
  [[nodiscard]] std::uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  std::atomic<bool> stop_{false};
  std::atomic<std::uint64_t> rounds_{0};
  std::thread thread_;
};

class InputFlips : public testing::TestWithParam<const char*> {};

TEST_P(InputFlips, ChangeNothingButTheOutput) {
  if (kRacesAreReported) {
    GTEST_SKIP() << "the race is the point: ThreadSanitizer would report it";
  }
  const Stage stage = stage_of(GetParam());
  const std::uint64_t granule = stage.kernel->granule_bytes(stage.params);
  const std::size_t bytes = (20'000 / granule + 1) * granule;
  const std::uint64_t table = stage.kernel->table_bytes(stage.params);
  KernelBatch sut(stage, {awkward_input(ElementKind::u8, bytes)},
                  awkward_input(ElementKind::u8, table, 5));
  {
    const Flipper flipper(sut.input_area(0));
    int runs = 0;
    while (runs < 20 || flipper.rounds() < 20) {
      sut.run();
      ++runs;
    }
    EXPECT_EQ(sut.status(0), OVERLAP_ITEM_OK);
  }
  const auto canaries = sut.output_area(0).subspan(sut.output(0).size());
  EXPECT_EQ(std::ranges::count(canaries, std::byte{0xa5}),
            static_cast<std::ptrdiff_t>(canaries.size()));
}

INSTANTIATE_TEST_SUITE_P(Kernels, InputFlips,
                         testing::Values("lut", "lut:channels=3,per_channel=yes",
                                         "resize:width=100,height=50,out_width=77,out_height=90",
                                         "resize:width=31,height=30,channels=4,out_width=99,"
                                         "out_height=11",
                                         "gaussian_blur:width=100,height=50",
                                         "sobel:width=100,height=50"));

}  // namespace
}  // namespace overlap::test
