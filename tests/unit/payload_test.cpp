#include "tests/bench/payload.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace overlap::bench {
namespace {

std::vector<float> made_of(Work work, const std::vector<float>& input) {
  const std::size_t half = input.size() / 2;
  std::vector<float> output(output_bytes_of(work, input.size()));
  for (std::size_t k = 0; k < output.size(); ++k) {
    output[k] = work == Work::scale ? 2 * input[k] + 1 : input[k] + input[half + k];
  }
  return output;
}

TEST(Payload, IsAnotherOneForAnotherSeed) {
  std::vector<float> first(64);
  std::vector<float> second(64);
  fill_payload(first, 1);
  fill_payload(second, 2);
  for (std::size_t k = 0; k < first.size(); ++k) {
    EXPECT_NE(first[k], second[k]);
  }
}

TEST(Payload, WritesEveryElementSmallEnoughToBeExact) {
  std::vector<float> values(10'000, -1);
  fill_payload(values, 4'000'000'000U);
  for (const float value : values) {
    EXPECT_GE(value, 0);
    EXPECT_LT(value, 4096);
  }
}

TEST(Payload, KnowsARightResult) {
  for (const Work work : {Work::scale, Work::vector_add}) {
    std::vector<float> input(1000);
    fill_payload(input, 7);
    EXPECT_TRUE(is_right(work, input, made_of(work, input)));
  }
}

TEST(Payload, KnowsOneWrongElementWhereverItIs) {
  for (const Work work : {Work::scale, Work::vector_add}) {
    std::vector<float> input(64);
    fill_payload(input, 7);
    const std::vector<float> right = made_of(work, input);
    for (std::size_t k = 0; k < right.size(); ++k) {
      std::vector<float> wrong = right;
      wrong[k] += 1;
      EXPECT_FALSE(is_right(work, input, wrong)) << k;
    }
  }
}

TEST(Payload, KnowsAResultOfAnotherLength) {
  std::vector<float> input(64);
  std::vector<float> output = made_of(Work::scale, input);
  output.pop_back();
  EXPECT_FALSE(is_right(Work::scale, input, output));
  EXPECT_FALSE(is_right(Work::scale, input, {}));
}

TEST(Payload, NamesThePipelines) {
  EXPECT_EQ(pipeline_text(Work::scale), "scale:a=2,b=1");
  EXPECT_EQ(pipeline_text(Work::vector_add, 50), "vector_add:repeat=50");
}

}  // namespace
}  // namespace overlap::bench
