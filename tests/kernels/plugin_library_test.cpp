#include "kernels/plugin_library.hpp"

#include "kernels/pipeline.hpp"
#include "tests/kernels/plugin_files.hpp"

#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <filesystem>
#include <string>
#include <vector>

namespace overlap {
namespace {

using test::PluginFiles;

struct PluginLibrary : ::testing::Test {
  PluginFiles files;
  KernelRegistry registry = KernelRegistry::with_builtin_kernels();

  /// The only refusal of the folder, which must be of this file and leave no kernel behind.
  [[nodiscard]] std::string refusal_of(const std::string& file) {
    const std::size_t before = registry.all().size();
    const PluginFolder sut = load_plugins(files.folder(), registry);
    EXPECT_TRUE(sut.loaded.empty());
    EXPECT_EQ(registry.all().size(), before);
    if (sut.refused.size() != 1 || registry.refused().size() != 1) {
      return "refused " + std::to_string(sut.refused.size());
    }
    EXPECT_EQ(sut.refused[0].file, file);
    EXPECT_EQ(registry.refused()[0].reason, sut.refused[0].reason);
    return sut.refused[0].reason;
  }
  void expect_refused(const std::string& file, std::initializer_list<std::string_view> parts) {
    const std::string reason = refusal_of(file);
    for (const std::string_view part : parts) {
      EXPECT_NE(reason.find(part), std::string::npos) << "no '" << part << "' in: " << reason;
    }
    EXPECT_EQ(reason.find("/proc/self"), std::string::npos) << reason;
  }
};

TEST_F(PluginLibrary, FindsNothingInAnEmptyFolder) {
  const PluginFolder sut = load_plugins(files.folder(), registry);
  EXPECT_TRUE(sut.loaded.empty());
  EXPECT_TRUE(sut.refused.empty());
}

TEST_F(PluginLibrary, AddsThePluginsOfAFolderInAlphabeticalOrder) {
  files.add("good", "b.so");
  files.add("taken_name", "c.so");
  files.add("no_entry", "a.so");
  files.write("notes.txt", "no plug-in");
  files.write("libx.so.1", "no plug-in");
  files.write(".so", "no plug-in");
  const PluginFolder sut = load_plugins(files.folder(), registry);
  ASSERT_EQ(sut.loaded.size(), 1U);
  EXPECT_EQ(sut.loaded[0].file, files.path("b.so"));
  EXPECT_EQ(sut.loaded[0].name, "test");
  EXPECT_EQ(sut.loaded[0].version, "0.1");
  EXPECT_EQ(sut.loaded[0].kernels, std::vector<std::string>{"invert"});
  ASSERT_EQ(sut.refused.size(), 2U);
  EXPECT_EQ(sut.refused[0].file, files.path("a.so"));
  EXPECT_EQ(sut.refused[1].file, files.path("c.so"));
  ASSERT_NE(registry.find("invert"), nullptr);
  EXPECT_EQ(registry.find("invert")->origin(), files.path("b.so"));
  EXPECT_EQ(registry.find("copy")->origin(), "built-in");
}

TEST_F(PluginLibrary, LoadsKernelsThatRunInPipelines) {
  files.add("good", "good.so");
  static_cast<void>(load_plugins(files.folder(), registry));
  const Pipeline sut = Pipeline::parse("invert|scale:a=1,type=u8", registry);
  EXPECT_TRUE(std::holds_alternative<PipelinePlan>(sut.plan(3)));
  EXPECT_THROW(static_cast<void>(sut.reference(std::vector<std::byte>(3))), NoReference);
}

TEST_F(PluginLibrary, FollowsASymbolicLinkToWhatItPointsTo) {
  files.add("good", "good.so.1");
  std::filesystem::create_symlink(files.path("good.so.1"), files.path("good.so"));
  EXPECT_EQ(load_plugins(files.folder(), registry).loaded.size(), 1U);
}

TEST_F(PluginLibrary, RefusesALinkToWhatOthersCanWrite) {
  files.add("good", "good.so.1", 0666);
  std::filesystem::create_symlink(files.path("good.so.1"), files.path("good.so"));
  expect_refused(files.path("good.so"), {"can be written by everybody", "chmod"});
}

TEST_F(PluginLibrary, RefusesAFileThatOthersCanWrite) {
  files.add("good", "good.so", 0646);
  expect_refused(files.path("good.so"), {"can be written by everybody", "chmod go-w"});
  files.set_mode("good.so", 0664);
  expect_refused(files.path("good.so"), {"can be written by its group", "chmod go-w"});
  files.set_mode("good.so", 0755);
  EXPECT_EQ(load_plugins(files.folder(), registry).loaded.size(), 1U);
}

TEST_F(PluginLibrary, OpensNothingOfAFolderThatOthersCanWrite) {
  files.add("good", "good.so");
  ASSERT_EQ(::chmod(files.folder().c_str(), 0777), 0);
  expect_refused(files.folder(), {"can be written by everybody"});
  ASSERT_EQ(::chmod(files.folder().c_str(), 0770), 0);
  expect_refused(files.folder(), {"can be written by its group"});
}

TEST_F(PluginLibrary, RefusesAFolderThatCannotBeListed) {
  files.add("good", "good.so");
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  const int next = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ASSERT_GE(next, 0);
  ::close(next);
  // Room for the folder, and for no second descriptor of it.
  const rlimit one_more{static_cast<rlim_t>(next) + 1, before.rlim_max};
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &one_more), 0);
  expect_refused(files.folder(), {"cannot be listed", "Too many open files"});
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
  EXPECT_EQ(load_plugins(files.folder(), registry).loaded.size(), 1U);
}

TEST_F(PluginLibrary, RefusesAFileOfAnotherUser) {
  if (::geteuid() != 0) {
    GTEST_SKIP() << "only root can give files away";
  }
  files.add("good", "good.so");
  ASSERT_EQ(::chown(files.path("good.so").c_str(), 12345, 0), 0);
  expect_refused(files.path("good.so"), {"uid 12345", "chown"});
}

TEST_F(PluginLibrary, RefusesWhatIsNoFileAndDoesNotWaitForIt) {
  ASSERT_EQ(::mkfifo(files.path("pipe.so").c_str(), 0644), 0);
  expect_refused(files.path("pipe.so"), {"no regular file"});
  std::filesystem::remove(files.path("pipe.so"));
  std::filesystem::create_directory(files.path("folder.so"));
  registry = KernelRegistry::with_builtin_kernels();
  expect_refused(files.path("folder.so"), {"no regular file"});
  std::filesystem::remove(files.path("folder.so"));
  std::filesystem::create_symlink("/nowhere", files.path("link.so"));
  registry = KernelRegistry::with_builtin_kernels();
  expect_refused(files.path("link.so"), {"cannot be opened"});
}

TEST_F(PluginLibrary, RefusesAFileThatIsNoLibrary) {
  files.write("text.so", "this is no library");
  expect_refused(files.path("text.so"), {"cannot be loaded", "file too short"});
}

TEST_F(PluginLibrary, RefusesALibraryThatIsNoPlugin) {
  files.add("no_entry", "x.so");
  expect_refused(files.path("x.so"), {"no plug-in", "overlap_plugin_entry"});
}

TEST_F(PluginLibrary, RefusesAPluginThatCannotWorkHere) {
  files.add("null_entry", "x.so");
  expect_refused(files.path("x.so"), {"cannot work here"});
}

TEST_F(PluginLibrary, RefusesAnotherVersionOfTheAbiNamingBoth) {
  files.add("wrong_major", "x.so");
  expect_refused(files.path("x.so"), {"ABI 2.0", "1.0", "rebuild"});
  std::filesystem::remove(files.path("x.so"));
  files.add("newer_minor", "x.so");
  expect_refused(files.path("x.so"), {"ABI 1.1", "1.0", "update overlapd"});
}

TEST_F(PluginLibrary, RefusesNamesThatAreTakenNamingTheHolder) {
  files.add("taken_name", "x.so");
  expect_refused(files.path("x.so"), {"'copy' is taken (built-in)", "rename"});
}

TEST_F(PluginLibrary, RefusesASecondPluginWithAKernelOfTheFirst) {
  files.add("good", "a.so");
  files.add("good", "b.so");
  const PluginFolder sut = load_plugins(files.folder(), registry);
  ASSERT_EQ(sut.refused.size(), 1U);
  EXPECT_NE(sut.refused[0].reason.find("'invert' is taken (" + files.path("a.so") + ")"),
            std::string::npos)
      << sut.refused[0].reason;
}

TEST_F(PluginLibrary, RefusesAPluginThatDeclaresANameTwice) {
  files.add("twice", "x.so");
  expect_refused(files.path("x.so"), {"'invert' twice"});
  EXPECT_EQ(registry.find("invert"), nullptr);
}

TEST_F(PluginLibrary, SaysThatAFolderIsNotThere) {
  for (const std::string& folder : {files.path("nothing"), files.write("file", "")}) {
    try {
      static_cast<void>(load_plugins(folder, registry));
      FAIL() << folder;
    } catch (const PluginFolderError& error) {
      EXPECT_NE(std::string(error.what()).find(folder), std::string::npos);
    }
  }
}

}  // namespace
}  // namespace overlap
