#include "daemon/source/kernel_cache.hpp"

#include "daemon/source/cache_entry.hpp"
#include "tests/bench/temporary_folder.hpp"
#include "tests/unit/text_log.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

namespace overlap {
namespace {

namespace fs = std::filesystem;

const CompiledSource kCompiled{"code", "entry", "warning"};

class KernelCacheTest : public ::testing::Test {
 protected:
  static void write(const std::string& path, const std::string& bytes, mode_t mode = 0600) {
    std::ofstream(path, std::ios::binary) << bytes;
    ::chmod(path.c_str(), mode);
  }
  [[nodiscard]] std::size_t file_count() const {
    return static_cast<std::size_t>(std::distance(fs::directory_iterator(path_), {}));
  }
  [[nodiscard]] static unsigned mode_of(const std::string& path) {
    return static_cast<unsigned>(fs::status(path).permissions());
  }

  bench::TemporaryFolder folder_;
  std::string path_ = folder_.path() + "/some/where";
  testing::TextLog log_;
  KernelCache sut_{path_, log_.logger()};
};

TEST_F(KernelCacheTest, FindsNothingAtFirst) {
  EXPECT_TRUE(sut_);
  EXPECT_FALSE(sut_.find("key"));
  EXPECT_EQ(log_.text(), "");
}

TEST_F(KernelCacheTest, FindsWhatWasStoredUnderTheSameKeyOnly) {
  sut_.store("key", kCompiled);
  const auto found = sut_.find("key");
  ASSERT_TRUE(found);
  EXPECT_EQ(found->image, "code");
  EXPECT_EQ(found->entry, "entry");
  EXPECT_EQ(found->log, "warning");
  EXPECT_FALSE(sut_.find("other key"));
  EXPECT_TRUE(KernelCache(path_, log_.logger()).find("key")) << "another process finds it too";
  EXPECT_EQ(log_.text(), "");
}

TEST_F(KernelCacheTest, KeepsManyEntriesAndTheLastOfEach) {
  for (int index = 0; index < 100; ++index) {
    sut_.store("key " + std::to_string(index), {std::to_string(index), "e", ""});
  }
  sut_.store("key 7", {"seven", "e", ""});
  EXPECT_EQ(sut_.find("key 7")->image, "seven");
  EXPECT_EQ(sut_.find("key 99")->image, "99");
  EXPECT_EQ(file_count(), 100U) << "nothing temporary is left";
}

TEST_F(KernelCacheTest, LetsNobodyElseReadOrWrite) {
  sut_.store("key", kCompiled);
  EXPECT_EQ(mode_of(path_), 0700U);
  EXPECT_EQ(mode_of(sut_.entry_path("key")), 0600U);
}

TEST_F(KernelCacheTest, GivesNobodyTheKernelOfAnotherKeyWithTheSameHash) {
  write(sut_.entry_path("key"), write_entry("another key", kCompiled));
  EXPECT_FALSE(sut_.find("key"));
  EXPECT_TRUE(log_.has("another kernel with the same hash")) << log_.text();
}

TEST_F(KernelCacheTest, IgnoresDamagedEntriesWithAWordAndReplacesThem) {
  const std::string whole = write_entry("key", kCompiled);
  for (const std::string& bytes :
       {std::string(), std::string("nonsense"), whole.substr(0, whole.size() - 1), whole + "x"}) {
    log_.clear();
    write(sut_.entry_path("key"), bytes);
    EXPECT_FALSE(sut_.find("key"));
    EXPECT_TRUE(log_.has("warning kernel cache: " + sut_.entry_path("key"))) << log_.text();
    EXPECT_TRUE(log_.has("damaged")) << log_.text();
  }
  sut_.store("key", kCompiled);
  EXPECT_TRUE(sut_.find("key"));
}

TEST_F(KernelCacheTest, IgnoresEntriesThatOthersCanWrite) {
  write(sut_.entry_path("key"), write_entry("key", kCompiled), 0622);
  EXPECT_FALSE(sut_.find("key"));
  EXPECT_TRUE(log_.has("can be written by others")) << log_.text();
}

TEST_F(KernelCacheTest, FollowsNoLinks) {
  write((folder_.path() + "/elsewhere"), write_entry("key", kCompiled));
  fs::create_symlink((folder_.path() + "/elsewhere"), sut_.entry_path("key"));
  EXPECT_FALSE(sut_.find("key"));
  EXPECT_TRUE(log_.has("cannot be opened")) << log_.text();
}

TEST_F(KernelCacheTest, KeepsNothingWhereOthersCanWrite) {
  fs::create_directory((folder_.path() + "/open"));
  ::chmod((folder_.path() + "/open").c_str(), 0777);
  const KernelCache sut((folder_.path() + "/open"), log_.logger());
  EXPECT_FALSE(sut);
  EXPECT_TRUE(log_.has("can be written by others")) << log_.text();
  sut.store("key", kCompiled);
  EXPECT_FALSE(sut.find("key"));
  EXPECT_TRUE(fs::is_empty((folder_.path() + "/open")));
}

TEST_F(KernelCacheTest, KeepsNothingWithoutAFolder) {
  const KernelCache sut(std::nullopt, log_.logger());
  EXPECT_FALSE(sut);
  sut.store("key", kCompiled);
  EXPECT_FALSE(sut.find("key"));
  EXPECT_EQ(log_.text(), "");
}

TEST_F(KernelCacheTest, GoesOnWithoutAFolderThatCannotBe) {
  write((folder_.path() + "/file"), "");
  EXPECT_FALSE(KernelCache((folder_.path() + "/file"), log_.logger()));
  EXPECT_FALSE(KernelCache((folder_.path() + "/file/below"), log_.logger()));
  EXPECT_TRUE(log_.has("is no folder")) << log_.text();
  EXPECT_TRUE(log_.has("cannot be made")) << log_.text();
}

TEST_F(KernelCacheTest, SaysSoIfItCannotWrite) {
  fs::remove_all(path_);
  sut_.store("key", kCompiled);
  EXPECT_TRUE(log_.has("cannot be made: No such file")) << log_.text();
}

TEST(KernelCacheFolder, IsWhatTheOptionSays) {
  EXPECT_EQ(kernel_cache_folder("/a", {"/b", "/c", "/d"}), "/a");
  EXPECT_EQ(kernel_cache_folder("off", {"/b", "/c", "/d"}), std::nullopt);
}

TEST(KernelCacheFolder, IsTheServicesThenTheUsersThenNone) {
  EXPECT_EQ(kernel_cache_folder({}, {"/b:/b2", "/c", "/d"}), "/b");
  EXPECT_EQ(kernel_cache_folder({}, {"", "/c", "/d"}), "/c/overlapd");
  EXPECT_EQ(kernel_cache_folder({}, {"", "", "/d"}), "/d/.cache/overlapd");
  EXPECT_EQ(kernel_cache_folder({}, {"", "", ""}), std::nullopt);
  EXPECT_EQ(kernel_cache_folder({}, {"b", "c", "d"}), std::nullopt) << "relative to what?";
}

}  // namespace
}  // namespace overlap
