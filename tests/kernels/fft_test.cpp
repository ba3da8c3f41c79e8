#include "kernels/fft/fft.hpp"

#include "tests/kernels/kernel_batch.hpp"
#include "tests/kernels/relative_error.hpp"

#include <array>
#include <thread>

namespace overlap::test {
namespace {

struct Wanted {
  std::int64_t n = 8;
  FftType type = FftType::c2c;
  bool inverse = false;
  double scale = 1;
};

class Fft : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_.has_host()) {
      GTEST_SKIP() << "this build has no kissfft";
    }
  }

  [[nodiscard]] Stage stage(const Wanted& wanted) const {
    return {&kernel_,
            {{.i64 = wanted.n},
             {.choice_index = static_cast<std::uint64_t>(wanted.type)},
             {.choice_index = wanted.inverse ? 1U : 0U},
             {.f64 = wanted.scale}}};
  }

  [[nodiscard]] std::vector<float> reference_on(const Wanted& wanted,
                                                const std::vector<float>& input) const {
    const Stage on = stage(wanted);
    std::vector<std::byte> output(
        std::get<Plan>(kernel_.plan(on.params, input.size() * sizeof(float))).max_output_bytes);
    output.resize(kernel_.reference({on.params, std::as_bytes(std::span(input)), output}));
    return elements_of<float>(output);
  }

  [[nodiscard]] std::string refusal(const Wanted& wanted, std::uint64_t input_bytes) const {
    const PlanOrRefusal planned = kernel_.plan(stage(wanted).params, input_bytes);
    const auto* const refused = std::get_if<Refusal>(&planned);
    return refused == nullptr ? std::string() : refused->text;
  }

  static std::size_t input_floats(const Wanted& wanted) {
    return static_cast<std::size_t>(wanted.n) * (wanted.type == FftType::c2c ? 2 : 1);
  }
  static std::size_t output_floats(const Wanted& wanted) {
    const auto n = static_cast<std::size_t>(wanted.n);
    return 2 * (wanted.type == FftType::c2c ? n : n / 2 + 1);
  }

  void expect_close(const Wanted& wanted, std::vector<std::vector<std::byte>> inputs) {
    KernelBatch sut(stage(wanted), std::move(inputs));
    sut.run();
    ASSERT_TRUE(sut.matches_reference(
        close_transforms(static_cast<std::size_t>(wanted.n), output_floats(wanted))))
        << "n " << wanted.n << ", type " << static_cast<int>(wanted.type) << ", inverse "
        << wanted.inverse;
  }

  FftKernel kernel_;
};

constexpr std::int64_t kLengths[] = {1,   2,   3,    4,    5,    6,    7,    8,    9,     15,  16,
                                     30,  31,  61,   64,   67,   97,   128,  134,  243,   255, 256,
                                     257, 360, 1000, 1024, 1009, 2018, 4096, 5000, 65'536};

TEST_F(Fft, IsCloseToTheReferenceForEveryLengthTypeAndDirection) {
  for (const std::int64_t n : kLengths) {
    for (const Wanted& wanted : {Wanted{n}, Wanted{n, FftType::c2c, true}, Wanted{n, FftType::r2c},
                                 Wanted{n, FftType::c2c, true, 0.37}}) {
      expect_close(wanted, {uniform_input(input_floats(wanted) * (n > 5000 ? 1 : 3), 1)});
      if (HasFatalFailure()) {
        return;
      }
    }
  }
}

TEST_F(Fft, IsCloseToTheReferenceForLongAwkwardLengths) {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
  // Everything is twenty times as slow there; these are as awkward: a prime, and twice a prime.
  constexpr std::array<std::int64_t, 3> kLongLengths = {16'411, 16'418, 98'304};
#else
  constexpr std::array<std::int64_t, 3> kLongLengths = {65'537, 65'542, 98'304};
#endif
  for (const std::int64_t n : kLongLengths) {
    expect_close({n}, {uniform_input(input_floats({n}), 2)});
    expect_close({n, FftType::r2c}, {uniform_input(input_floats({n, FftType::r2c}), 3)});
  }
}

TEST_F(Fft, RunsJobsOfSeveralTransformsInOneBatch) {
  for (const Wanted& wanted : {Wanted{12}, Wanted{13, FftType::r2c}, Wanted{67, FftType::c2c}}) {
    const std::size_t floats = input_floats(wanted);
    expect_close(
        wanted,
        {uniform_input(floats, 1), {}, uniform_input(5 * floats, 2), uniform_input(2 * floats, 3)});
  }
}

TEST_F(Fft, ReferenceTransformsWhatIsKnown) {
  const auto expect_near = [this](const Wanted& wanted, const std::vector<float>& input,
                                  const std::vector<float>& expected) {
    const std::vector<float> result = reference_on(wanted, input);
    ASSERT_EQ(result.size(), expected.size());
    for (std::size_t i = 0; i < result.size(); ++i) {
      EXPECT_NEAR(result[i], expected[i], 1e-15) << "n " << wanted.n << ", float " << i;
    }
  };
  // An impulse at 1 turns once around, and the other way in the inverse.
  expect_near({4}, {0, 0, 1, 0, 0, 0, 0, 0}, {1, 0, 0, -1, -1, 0, 0, 1});
  expect_near({4, FftType::c2c, true}, {0, 0, 1, 0, 0, 0, 0, 0}, {1, 0, 0, 1, -1, 0, 0, -1});
  // A constant is one value; two transforms in one job.
  expect_near({2}, {3, 1, 3, 1, 0, 0, 1, 0}, {6, 2, 0, 0, 1, 0, -1, 0});
  expect_near({1, FftType::c2c, false, 0.5}, {3, 1}, {1.5F, 0.5F});
  expect_near({2, FftType::r2c}, {3, 1}, {4, 0, 2, 0});
  expect_near({3, FftType::r2c}, {1, 1, 1}, {3, 0, 0, 0});
}

TEST_F(Fft, ReferenceFindsTheToneThatIsThere) {
  // exp(2 pi i 5 j / n) has all its power in X[5], for lengths that take each way through it.
  for (const std::int64_t n : {64, 96, 511, 513, 1009}) {
    std::vector<float> tone;
    for (std::int64_t j = 0; j < n; ++j) {
      const double angle =
          2 * 3.14159265358979323846 * 5 * static_cast<double>(j) / static_cast<double>(n);
      tone.push_back(static_cast<float>(std::cos(angle)));
      tone.push_back(static_cast<float>(std::sin(angle)));
    }
    const std::vector<float> result = reference_on({n}, tone);
    for (std::size_t k = 0; k < static_cast<std::size_t>(n); ++k) {
      EXPECT_NEAR(result[2 * k], k == 5 ? static_cast<double>(n) : 0.0, 1e-4) << n << ", " << k;
      EXPECT_NEAR(result[2 * k + 1], 0.0, 1e-4) << n << ", " << k;
    }
  }
}

TEST_F(Fft, GivesBackTheSignalAfterAnInverseOfOneNth) {
  for (const std::int64_t n : {1, 8, 100, 509}) {
    const std::vector<std::byte> signal = uniform_input(2 * static_cast<std::size_t>(n), 4);
    KernelBatch forward(stage({n}), {signal});
    forward.run();
    KernelBatch sut(stage({n, FftType::c2c, true, 1.0 / static_cast<double>(n)}),
                    {{forward.output(0).begin(), forward.output(0).end()}});
    sut.run();
    EXPECT_LE(relative_rms_error(sut.output(0), signal),
              2 * fft_tolerance(static_cast<std::size_t>(n)))
        << n;
  }
}

TEST_F(Fft, SpoilsOnlyTheTransformThatHoldsANaN) {
  for (const std::int64_t n : {8, 67}) {
    std::vector<float> input(static_cast<std::size_t>(n) * 4, 0.5F);
    input[3] = std::numeric_limits<float>::quiet_NaN();
    KernelBatch sut(stage({n}), {bytes_of(input)});
    sut.run();
    const std::vector<float> result = elements_of<float>(sut.output(0));
    const auto half = static_cast<std::ptrdiff_t>(result.size() / 2);
    EXPECT_TRUE(std::ranges::all_of(result.begin(), result.begin() + half,
                                    [](float value) { return std::isnan(value); }));
    EXPECT_TRUE(std::ranges::none_of(result.begin() + half, result.end(),
                                     [](float value) { return std::isnan(value); }));
  }
}

TEST_F(Fft, GivesTheSameFromSeveralThreadsAtOnce) {
  const std::vector<std::byte> input = uniform_input(2 * 1009, 5);
  KernelBatch alone(stage({1009}), {input});
  alone.run();
  std::vector<std::thread> threads;
  std::vector<std::vector<std::byte>> results(4);
  for (std::vector<std::byte>& result : results) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        KernelBatch sut(stage({1009}), {input});
        sut.run();
        result.assign(sut.output(0).begin(), sut.output(0).end());
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
  for (const std::vector<std::byte>& result : results) {
    EXPECT_TRUE(std::ranges::equal(result, alone.output(0)));
  }
}

TEST_F(Fft, GivesHalfTheSpectrumOfRealValues) {
  EXPECT_EQ(std::get<Plan>(kernel_.plan(stage({8, FftType::r2c}).params, 64)).max_output_bytes,
            2U * 5 * 8);
  EXPECT_EQ(std::get<Plan>(kernel_.plan(stage({9, FftType::r2c}).params, 36)).max_output_bytes,
            5U * 8);
}

TEST_F(Fft, RefusesALengthThatIsNoWholeTransform) {
  EXPECT_EQ(refusal({8, FftType::r2c}, 40),
            "40 bytes do not fit fft: it takes whole granules of 32 bytes (one transform of 8 real "
            "f32 values), and 8 bytes are left over; send 32 or 64 bytes");
  EXPECT_EQ(refusal({8}, 128), "");
}

TEST_F(Fft, RefusesAnInverseFromRealValues) {
  EXPECT_EQ(refusal({8, FftType::r2c, true}, 32),
            "fft with type=r2c goes forward only; use direction=forward, or type=c2c for an "
            "inverse");
}

TEST_F(Fft, PreparesForTheHostWithoutAGpu) {
  EXPECT_FALSE(kernel_.prepare(stage({1 << 16}).params, 8 << 16, false).has_value());
}

}  // namespace
}  // namespace overlap::test
