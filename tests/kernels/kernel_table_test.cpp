#include "tests/kernel_table/kernel_table.hpp"

#include "kernels/plugin_kernel.hpp"
#include "tests/kernels/declared_kernel.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

namespace overlap {
namespace {

using test::DeclaredKernel;

std::string page_with(std::string_view tables) {
  return "# Kernels\n\n" + std::string(kTableBegin) + "\n" + std::string(tables) +
         std::string(kTableEnd) + "\n\nmore\n";
}

/// `add_amount` of a plug-in, for host and GPU, as the only kernel.
struct KernelTable : ::testing::Test {
  DeclaredKernel declared;
  KernelRegistry kernels;

  void SetUp() override {
    declared.kernel.launch = [](const overlap_kernel*, const overlap_batch*, void*) { return 0; };
    kernels.add(std::make_unique<PluginKernel>(declared.kernel, "/somewhere/add.so"));
  }
};

TEST_F(KernelTable, HasARowForTheKernelAndOneForEachParameter) {
  EXPECT_EQ(kernel_tables(kernels),
            "| kernel | what it makes | table | state | paths | runs on | from |\n"
            "| --- | --- | --- | --- | --- | --- | --- |\n"
            "| `add_amount` | adds an amount to every byte | | | mapped, copy, gather | host, cuda "
            "| `add.so` |\n"
            "\n"
            "| kernel | parameter | type | takes | default | unit | meaning |\n"
            "| --- | --- | --- | --- | --- | --- | --- |\n"
            "| `add_amount` | `amount` | integer, per job | 0 to 255 | 1 | steps | added to every "
            "byte |\n"
            "| `add_amount` | `level` | real | -1 to 1 | 0.5 | | of no effect |\n"
            "| `add_amount` | `doubled` | choice | `no` `yes` | no | | twice the bytes |\n");
}

TEST_F(KernelTable, SaysThatAKernelKeepsStateAndTakesATable) {
  declared.kernel.name = "fir";
  declared.kernel.table_help = "a|b";
  declared.kernel.plan = [](const overlap_kernel*, const overlap_param_value*, std::uint64_t bytes,
                            overlap_plan* plan, char*, std::size_t) {
    plan->max_output_bytes = bytes;
    plan->state_bytes = 8;
    return 0;
  };
  const PluginKernel kernel(declared.kernel, "/fir.so");
  EXPECT_NE(kernel_rows(kernel).kernel.find("| a\\|b | yes | copy, gather |"), std::string::npos)
      << kernel_rows(kernel).kernel;
}

TEST_F(KernelTable, AgreesWithThePageThatItWrote) {
  const std::string page = with_tables(page_with("old\n"), kernel_tables(kernels));
  EXPECT_TRUE(differences(page, kernels).empty());
  EXPECT_EQ(page.find("old"), std::string::npos);
  EXPECT_EQ(with_tables(page, kernel_tables(kernels)), page) << "written twice";
  EXPECT_TRUE(page.starts_with("# Kernels\n"));
  EXPECT_TRUE(page.ends_with("\n\nmore\n"));
}

TEST_F(KernelTable, NamesEveryRowThatIsDifferent) {
  const std::string page = with_tables(page_with(""), kernel_tables(kernels));
  std::string changed = page;
  changed.replace(changed.find("0 to 255"), 8, "0 to 256");
  const std::vector<std::string> sut = differences(changed, kernels);
  ASSERT_EQ(sut.size(), 2U);
  EXPECT_TRUE(sut[0].starts_with("missing: | `add_amount` | `amount` |")) << sut[0];
  EXPECT_TRUE(sut[1].starts_with("not so: | `add_amount` | `amount` |")) << sut[1];
  EXPECT_EQ(differences(page_with(""), kernels).size(), 4U) << "an empty page misses every row";
}

TEST_F(KernelTable, MissesABuiltInKernelThatIsThereNoMore) {
  const std::string page =
      with_tables(page_with(""), kernel_tables(KernelRegistry::with_builtin_kernels()));
  const std::vector<std::string> sut = differences(page, KernelRegistry());
  EXPECT_EQ(sut.size(), KernelRegistry::with_builtin_kernels().all().size());
}

TEST_F(KernelTable, LeavesAPluginAloneThatIsNotInThisBuild) {
  const std::string page = with_tables(page_with(""), kernel_tables(kernels));
  EXPECT_TRUE(differences(page, KernelRegistry()).empty());
}

TEST_F(KernelTable, LeavesAKernelAloneThatLacksABackendInThisBuild) {
  DeclaredKernel host_only;
  KernelRegistry others;
  others.add(std::make_unique<PluginKernel>(host_only.kernel, "/somewhere/add.so"));
  EXPECT_TRUE(differences(with_tables(page_with(""), kernel_tables(kernels)), others).empty());
}

TEST_F(KernelTable, NeedsBothMarkersOnceAndInOrder) {
  const std::string begin(kTableBegin);
  const std::string end(kTableEnd);
  for (const std::string& page :
       {std::string(), begin, end, end + begin, begin + begin + end, begin + end + end}) {
    EXPECT_THROW(static_cast<void>(with_tables(page, "")), MarkerError) << page;
    EXPECT_THROW(static_cast<void>(differences(page, kernels)), MarkerError) << page;
  }
}

}  // namespace
}  // namespace overlap
