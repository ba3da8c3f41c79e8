#include "kernels/gemm/gemm.hpp"

#include "tests/kernels/kernel_batch.hpp"
#include "tests/kernels/relative_error.hpp"

#include <thread>

namespace overlap::test {
namespace {

class Gemm : public testing::Test {
 protected:
  void SetUp() override {
    if (!kernel_.has_host()) {
      GTEST_SKIP() << "this build has no OpenBLAS";
    }
  }

  [[nodiscard]] Stage stage(std::int64_t k, std::int64_t n) const {
    return {&kernel_, {{.i64 = k}, {.i64 = n}}};
  }

  void expect_close(std::size_t k, std::size_t n, const std::vector<std::size_t>& rows) {
    std::vector<std::vector<std::byte>> inputs;
    for (const std::size_t m : rows) {
      inputs.push_back(uniform_input(m * k, static_cast<std::uint32_t>(m + 1)));
    }
    const std::vector<std::byte> table = uniform_input(k * n, 99);
    KernelBatch sut(stage(static_cast<std::int64_t>(k), static_cast<std::int64_t>(n)), inputs,
                    table);
    sut.run();
    for (std::size_t job = 0; job < inputs.size(); ++job) {
      EXPECT_EQ(gemm_difference(inputs[job], table, k, n, sut.output(job)), "")
          << rows[job] << " x " << k << " x " << n;
    }
  }

  GemmKernel kernel_;
};

TEST_F(Gemm, IsWithinItsBoundForEveryShape) {
  for (const std::size_t k : {1U, 2U, 3U, 31U, 64U, 257U}) {
    for (const std::size_t n : {1U, 2U, 3U, 16U, 33U, 130U}) {
      expect_close(k, n, {1, 2, 3, 17, 100});
    }
  }
}

TEST_F(Gemm, RunsJobsOfDifferentSizesInOneBatch) { expect_close(20, 30, {4, 0, 1, 300}); }

TEST_F(Gemm, MultipliesRowsOfTheJobWithColumnsOfTheTable) {
  KernelBatch sut(stage(3, 2), {bytes_of<float>({1, 2, 3, 4, 5, 6})},
                  bytes_of<float>({1, 10, 2, 20, 3, 30}));
  sut.run();
  EXPECT_EQ(elements_of<float>(sut.output(0)), (std::vector<float>{14, 140, 32, 320}));
  EXPECT_TRUE(sut.matches_reference(ElementKind::f32)) << "small integers are exact everywhere";
}

TEST_F(Gemm, SpoilsOnlyTheRowThatHoldsANaN) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  KernelBatch sut(stage(2, 2), {bytes_of<float>({1, nan, 3, 4})}, bytes_of<float>({1, 0, 0, 1}));
  sut.run();
  const std::vector<float> result = elements_of<float>(sut.output(0));
  EXPECT_TRUE(std::isnan(result[0]));
  EXPECT_TRUE(std::isnan(result[1]));
  EXPECT_EQ(result[2], 3);
  EXPECT_EQ(result[3], 4);
}

TEST_F(Gemm, GivesTheSameFromSeveralThreadsAtOnce) {
  const std::vector<std::byte> input = uniform_input(64 * 100, 1);
  const std::vector<std::byte> table = uniform_input(100 * 80, 2);
  KernelBatch alone(stage(100, 80), {input}, table);
  alone.run();
  std::vector<std::thread> threads;
  std::vector<std::vector<std::byte>> results(4);
  for (std::vector<std::byte>& result : results) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20; ++round) {
        KernelBatch sut(stage(100, 80), {input}, table);
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

TEST_F(Gemm, WantsATableOfKTimesNElements) {
  EXPECT_EQ(kernel_.table_bytes(stage(3, 5).params), 60U);
  EXPECT_FALSE(kernel_.table_help().empty());
}

TEST_F(Gemm, RefusesALengthThatIsNoWholeRow) {
  const PlanOrRefusal planned = kernel_.plan(stage(3, 5).params, 16);
  ASSERT_TRUE(std::holds_alternative<Refusal>(planned));
  EXPECT_EQ(std::get<Refusal>(planned).text,
            "16 bytes do not fit gemm: it takes whole granules of 12 bytes (one row of 3 f32 "
            "elements), and 4 bytes are left over; send 12 or 24 bytes");
}

}  // namespace
}  // namespace overlap::test
