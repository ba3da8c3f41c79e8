#include "daemon/plugin_start.hpp"

#include "tests/kernels/plugin_files.hpp"
#include "tests/unit/control_fixture.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <filesystem>
#include <optional>
#include <string>

namespace overlap {
namespace {

using testing::says;

struct PluginStart : ::testing::Test {
  test::PluginFiles files;
  test::PluginFiles own;
  testing::KeptLog log;
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
};

TEST_F(PluginStart, NeedsNoFolder) {
  start_plugins({}, std::nullopt, kernels, log.logger());
  EXPECT_EQ(log.text(), "");
}

TEST_F(PluginStart, SaysWhatItLoadedAndWhatItRefused) {
  files.add("good", "good.so");
  files.add("wrong_major", "old.so");
  start_plugins({files.folder()}, std::nullopt, kernels, log.logger());
  EXPECT_TRUE(says(log.text(), {"plug-in " + files.path("good.so") + " (test 0.1): invert",
                                "plug-in " + files.path("old.so") + " is refused: ", "ABI 2.0"}));
  EXPECT_NE(kernels.find("invert"), nullptr);
}

TEST_F(PluginStart, LoadsItsOwnBeforeThoseThatAreGiven) {
  own.add("good", "z.so");
  files.add("good", "a.so");
  start_plugins({files.folder()}, own.folder(), kernels, log.logger());
  ASSERT_NE(kernels.find("invert"), nullptr);
  EXPECT_EQ(kernels.find("invert")->origin(), own.path("z.so"));
  EXPECT_EQ(kernels.refused().size(), 1U);
}

TEST_F(PluginStart, OpensAFolderOnceHoweverItIsNamed) {
  files.add("good", "good.so");
  std::filesystem::create_directory_symlink(files.folder(), own.path("link"));
  start_plugins({files.folder(), files.folder() + "/.", own.path("link")}, files.folder(), kernels,
                log.logger());
  EXPECT_TRUE(kernels.refused().empty());
  EXPECT_NE(kernels.find("invert"), nullptr);
}

TEST_F(PluginStart, GoesOnWithoutItsOwnFolderWhereThatCannotBeOpened) {
  files.add("good", "good.so");
  const std::string missing = own.path("nothing");
  start_plugins({files.folder()}, missing, kernels, log.logger());
  EXPECT_NE(kernels.find("invert"), nullptr);
  EXPECT_TRUE(says(log.text(), {"plug-in " + missing + " is refused: ", "cannot be opened"}));
  ASSERT_EQ(kernels.refused().size(), 1U);
  EXPECT_EQ(kernels.refused()[0].file, missing);
}

TEST_F(PluginStart, TakesItsOwnFolderForAGivenOneWhereItIsGivenToo) {
  const std::string missing = own.path("nothing");
  EXPECT_THROW(start_plugins({missing}, missing, kernels, log.logger()), PluginFolderError);
}

TEST_F(PluginStart, TakesAGivenFolderThatIsNotThereForAnError) {
  EXPECT_THROW(start_plugins({files.path("nothing")}, std::nullopt, kernels, log.logger()),
               PluginFolderError);
}

}  // namespace
}  // namespace overlap
