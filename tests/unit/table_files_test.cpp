#include "producer/send/table_files.hpp"

#include "producer/send/unjudged_pipeline.hpp"
#include "tests/unit/fake_daemon.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <string>
#include <vector>

namespace overlap::testing {
namespace {

struct TableFiles : ::testing::Test {
  std::string write(const std::string& name, std::size_t bytes) const {
    std::string path = folder.path(name);
    std::ofstream(path, std::ios::binary) << std::string(bytes, 't');
    return path;
  }
  std::vector<StageTable> read(const std::string& pipeline, const std::vector<TableFile>& files,
                               std::uint64_t most_bytes = kMostTableBytes) const {
    return read_tables(files, read_pipeline(pipeline, kernels, false), kernels, most_bytes);
  }
  /// Why the command line is wrong; empty if it is not.
  std::string error(const std::string& pipeline, const std::vector<TableFile>& files,
                    std::uint64_t most_bytes = kMostTableBytes) const {
    try {
      static_cast<void>(read(pipeline, files, most_bytes));
    } catch (const UsageError& wrong) {
      return wrong.what();
    } catch (const PipelineError& wrong) {
      return wrong.what();
    }
    return {};
  }

  SocketFolder folder;
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
};

TEST_F(TableFiles, AreNoneWhereNoneIsNamed) { EXPECT_TRUE(read("copy", {}).empty()); }

TEST_F(TableFiles, AreReadWhole) {
  const std::size_t bytes = 40'000 * sizeof(float);
  const auto sut = read("copy|own", {{1, write("a", bytes)}, {0, write("b", 1)}});
  ASSERT_EQ(sut.size(), 2U);
  EXPECT_EQ(sut[0].stage_index, 1U);
  EXPECT_EQ(sut[0].bytes, std::vector<std::byte>(bytes, std::byte{'t'}));
  EXPECT_EQ(sut[1].stage_index, 0U);
  EXPECT_EQ(sut[1].bytes.size(), 1U);
  EXPECT_EQ(read("fir:taps=4", {{0, write("c", 16)}}).at(0).bytes.size(), 16U);
}

TEST_F(TableFiles, ThatDoNotEndAreReadNoFurtherThanTheKernelWants) {
  EXPECT_TRUE(says(error("copy|fir:taps=4", {{1, "/dev/zero"}}),
                   {"/dev/zero has more than the 16 bytes", "stage 2 (fir)"}));
  EXPECT_TRUE(says(error("copy|fir:taps=4", {{0, "/dev/zero"}}), {"stage 1 (copy)", "no table"}));
  EXPECT_TRUE(says(error("copy", {{1, "/dev/zero"}}), {"stage 2", "has 1;"}));
}

TEST_F(TableFiles, ThatDoNotEndAreRefusedWhereTheDaemonIsToJudge) {
  EXPECT_TRUE(says(error("copy|own", {{1, "/dev/zero"}}, 1U << 20U),
                   {"/dev/zero has more than 1MiB", "stage 2"}));
  const std::string just_fits = write("a", 1U << 20U);
  EXPECT_EQ(read("copy|own", {{1, just_fits}}, 1U << 20U).at(0).bytes.size(), 1U << 20U);
}

TEST_F(TableFiles, ThatAreEmptyOrGivenTwiceAreRefusedByTheirStageFromOne) {
  const std::string empty = write("empty", 0);
  const std::string full = write("full", 16);
  for (const std::string pipeline : {"fir:taps=4", "own"}) {
    EXPECT_TRUE(says(error(pipeline, {{0, empty}}), {empty + " is empty", "stage 1"}));
    EXPECT_TRUE(says(error(pipeline, {{0, full}, {0, full}}), {"stage 1 has two tables"}));
  }
}

TEST_F(TableFiles, ThatAreTooShortAreTheKernelsToRefuse) {
  EXPECT_TRUE(says(error("fir:taps=4", {{0, write("short", 15)}}),
                   {"stage 1 (fir) needs a table of 16 bytes, this one has 15"}));
}

}  // namespace
}  // namespace overlap::testing
