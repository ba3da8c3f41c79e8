#include "tests/bench/result_difference.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <vector>

namespace overlap::bench {
namespace {

using Floats = std::vector<float>;

std::string difference(std::string_view kernel, const Floats& got, const Floats& expected) {
  return result_difference(kernel, std::as_bytes(std::span(got)),
                           std::as_bytes(std::span(expected)));
}

TEST(ResultDifference, FindsNoneInEqualResults) {
  EXPECT_EQ(difference("fir", {1, 2, 3}, {1, 2, 3}), "");
  EXPECT_EQ(difference("fft", {1, 2, 3}, {1, 2, 3}), "");
  EXPECT_EQ(difference("fir", {}, {}), "");
  EXPECT_EQ(difference("gemm", {}, {}), "");
}

TEST(ResultDifference, NamesTheFirstByteThatIsAnother) {
  EXPECT_NE(difference("fir", {1, 2, 3}, {1, 2.5F, 3}).find("byte 6"), std::string::npos);
}

TEST(ResultDifference, IsExactButForTheVendorsKernels) {
  EXPECT_NE(difference("fir", {1, 1.00001F}, {1, 1}), "");
  EXPECT_EQ(difference("fft", {1, 1.00001F}, {1, 1}), "");
  EXPECT_NE(difference("fft", {1, 1.001F}, {1, 1}), "");
  EXPECT_NE(difference("gemm", {0, 0}, {1, 1}), "");
}

TEST(ResultDifference, LetsNoNanPass) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  EXPECT_NE(difference("gemm", {nan, 1}, {1, 1}), "");
  EXPECT_NE(difference("gemm", {1, nan}, {1, 1}), "");
  EXPECT_NE(difference("gemm", {nan, 1, 1, 1}, {1, 1, 1, 1}), "");
}

TEST(ResultDifference, NamesAnotherLength) {
  EXPECT_EQ(difference("fir", {1}, {1, 2}), "4 bytes instead of 8");
  EXPECT_EQ(difference("fft", {1, 2}, {}), "8 bytes instead of 0");
}

}  // namespace
}  // namespace overlap::bench
