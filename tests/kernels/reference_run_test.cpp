#include "kernels/pipeline.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <vector>

namespace overlap::test {
namespace {

std::vector<std::byte> bytes_of(std::initializer_list<unsigned> values) {
  std::vector<std::byte> bytes;
  for (const unsigned value : values) {
    bytes.push_back(static_cast<std::byte>(value));
  }
  return bytes;
}

/// What the reference of a kernel needs; the rest is never called here.
class ByteKernel : public Kernel {
 public:
  std::string_view summary() const noexcept override { return "for a test"; }
  std::span<const Parameter> parameters() const noexcept override { return {}; }
  std::uint64_t granule_bytes(ParameterView /*params*/) const noexcept override { return 1; }
  PlanOrRefusal plan(ParameterView /*params*/, std::uint64_t input_bytes) const override {
    if (input_bytes > 16) {
      return Refusal{"at most 16 bytes"};
    }
    Plan plan;
    plan.max_output_bytes = input_bytes;
    plan.state_bytes = state_bytes(input_bytes);
    plan.output_size = output_size();
    return plan;
  }
  void run(const overlap_batch& /*batch*/) const override {}
  bool has_cuda() const noexcept override { return false; }
  int launch(const overlap_batch& /*batch*/, OpaqueStream /*stream*/) const override { return 1; }

 private:
  virtual std::uint64_t state_bytes(std::uint64_t /*input_bytes*/) const { return 0; }
  virtual OutputSize output_size() const { return OutputSize::known; }
};

/// Adds to every byte the one at its place modulo 4 in the table.
class AddTable final : public ByteKernel {
 public:
  std::string_view name() const noexcept override { return "add_table"; }
  std::string_view table_help() const noexcept override { return "4 bytes to add"; }
  std::uint64_t table_bytes(ParameterView /*params*/) const noexcept override { return 4; }
  std::uint64_t reference(const ReferenceJob& job) const override {
    for (std::size_t i = 0; i < job.input.size(); ++i) {
      job.output[i] = static_cast<std::byte>(std::to_integer<unsigned>(job.input[i]) +
                                             std::to_integer<unsigned>(job.table[i % 4]));
    }
    return job.input.size();
  }
};

/// Gives the sum of two jobs with every second one, and nothing with the others.
class PairSum final : public ByteKernel {
 public:
  std::string_view name() const noexcept override { return "pair_sum"; }
  std::uint64_t reference(const ReferenceJob& job) const override {
    EXPECT_EQ(job.state.size(), state_bytes(job.input.size()));
    const bool second = job.state[0] != std::byte{0};
    job.state[0] = second ? std::byte{0} : std::byte{1};
    for (std::size_t i = 0; i < job.input.size(); ++i) {
      std::byte& kept = job.state[1 + i];
      job.output[i] = static_cast<std::byte>(std::to_integer<unsigned>(kept) +
                                             std::to_integer<unsigned>(job.input[i]));
      kept = second ? std::byte{0} : job.input[i];
    }
    return second ? job.input.size() : 0;
  }

 private:
  std::uint64_t state_bytes(std::uint64_t input_bytes) const override { return 1 + input_bytes; }
  OutputSize output_size() const override { return OutputSize::all_or_nothing; }
};

struct ReferenceRunTest : ::testing::Test {
  ReferenceRunTest() {
    kernels.add(std::make_unique<AddTable>());
    kernels.add(std::make_unique<PairSum>());
  }
  std::string refusal_of(const char* text, const std::vector<StageTable>& tables) const {
    const Pipeline pipeline = Pipeline::parse(text, kernels);
    try {
      const ReferenceRun sut(pipeline, tables);
    } catch (const PipelineError& error) {
      return error.what();
    }
    return "";
  }
  KernelRegistry kernels;
};

TEST_F(ReferenceRunTest, GivesEveryStageItsTable) {
  const Pipeline pipeline = Pipeline::parse("add_table|add_table", kernels);
  const std::vector<StageTable> tables{{1, bytes_of({0, 0, 0, 100})}, {0, bytes_of({1, 2, 3, 4})}};
  ReferenceRun sut(pipeline, tables);
  EXPECT_EQ(sut.run(bytes_of({10, 10, 10, 10, 10})), bytes_of({11, 12, 13, 114, 11}));
  EXPECT_EQ(sut.run({}), bytes_of({}));
}

TEST_F(ReferenceRunTest, KeepsStateFromJobToJob) {
  const Pipeline pipeline = Pipeline::parse("pair_sum", kernels);
  ReferenceRun sut(pipeline);
  EXPECT_EQ(sut.run(bytes_of({1, 2})), bytes_of({}));
  EXPECT_EQ(sut.run(bytes_of({10, 20})), bytes_of({11, 22}));
  EXPECT_EQ(sut.run(bytes_of({1})), bytes_of({}));
  EXPECT_EQ(sut.run(bytes_of({3})), bytes_of({4}));
}

TEST_F(ReferenceRunTest, HasRoomForAJobThatIsLargerThanTheOnesBefore) {
  const Pipeline pipeline = Pipeline::parse("pair_sum", kernels);
  ReferenceRun sut(pipeline);
  EXPECT_EQ(sut.run(bytes_of({7})), bytes_of({}));
  EXPECT_EQ(sut.run(bytes_of({1, 1, 1})), bytes_of({8, 1, 1}));
}

TEST_F(ReferenceRunTest, AStageThatMakesNothingKeepsTheOnesBehindFromSeeingAJob) {
  const Pipeline pipeline = Pipeline::parse("pair_sum|pair_sum", kernels);
  ReferenceRun sut(pipeline);
  for (int job = 1; job <= 8; ++job) {
    EXPECT_EQ(sut.run(bytes_of({5})), job % 4 == 0 ? bytes_of({20}) : bytes_of({})) << job;
  }
}

TEST_F(ReferenceRunTest, AnEmptyOrRefusedJobChangesNothing) {
  const Pipeline pipeline = Pipeline::parse("pair_sum", kernels);
  ReferenceRun sut(pipeline);
  EXPECT_EQ(sut.run(bytes_of({1})), bytes_of({}));
  EXPECT_EQ(sut.run({}), bytes_of({}));
  EXPECT_THROW(static_cast<void>(sut.run(std::vector<std::byte>(17))), PipelineError);
  EXPECT_EQ(sut.run(bytes_of({2})), bytes_of({3}));
}

TEST_F(ReferenceRunTest, BeginsAnewWhenItIsReset) {
  const Pipeline pipeline = Pipeline::parse("pair_sum", kernels);
  ReferenceRun sut(pipeline);
  EXPECT_EQ(sut.run(bytes_of({100})), bytes_of({}));
  sut.reset();
  EXPECT_EQ(sut.run(bytes_of({1})), bytes_of({}));
  EXPECT_EQ(sut.run(bytes_of({2})), bytes_of({3}));
}

TEST_F(ReferenceRunTest, APipelinesOwnReferenceIsThatOfAFirstJob) {
  const Pipeline sut = Pipeline::parse("pair_sum", kernels);
  EXPECT_EQ(sut.reference(bytes_of({1})), bytes_of({}));
  EXPECT_EQ(sut.reference(bytes_of({1})), bytes_of({}));
}

TEST_F(ReferenceRunTest, NamesTheStageWhoseTableIsMissingOrWrong) {
  const auto good = bytes_of({1, 2, 3, 4});
  EXPECT_EQ(refusal_of("add_table", {{0, good}}), "");
  const std::string missing = refusal_of("pair_sum|add_table", {});
  EXPECT_NE(missing.find("stage 2 (add_table) needs a table of 4 bytes: 4 bytes to add"),
            std::string::npos)
      << missing;
  const std::string wrong = refusal_of("add_table", {{0, bytes_of({1})}});
  EXPECT_NE(wrong.find("of 4 bytes, this one has 1"), std::string::npos) << wrong;
  const std::string needless = refusal_of("pair_sum", {{0, good}});
  EXPECT_NE(needless.find("stage 1 (pair_sum) takes no table"), std::string::npos) << needless;
  const std::string beyond = refusal_of("add_table", {{0, good}, {1, good}});
  EXPECT_NE(beyond.find("stage 2, the pipeline has 1"), std::string::npos) << beyond;
  const std::string twice = refusal_of("add_table", {{0, good}, {0, good}});
  EXPECT_NE(twice.find("two tables"), std::string::npos) << twice;
}

}  // namespace
}  // namespace overlap::test
