#include "daemon/source/trusted_file.hpp"

#include "tests/bench/temporary_folder.hpp"

#include <gtest/gtest.h>

#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace overlap {
namespace {

namespace fs = std::filesystem;
using Outcome = TrustedText::Outcome;

class TrustedFileTest : public ::testing::Test {
 protected:
  std::string write(const std::string& name, const std::string& text, mode_t mode = 0600) {
    const std::string path = (folder_.path() + "/" + name);
    std::ofstream(path) << text;
    ::chmod(path.c_str(), mode);
    return path;
  }
  static TrustedText read(const std::string& path, LinkRule links = LinkRule::follow) {
    return read_trusted_file(path, 100, links);
  }

  bench::TemporaryFolder folder_;
};

TEST_F(TrustedFileTest, ReadsWhatOnlyItsOwnerCanWrite) {
  for (const mode_t mode : {0600, 0644, 0444, 0755}) {
    const TrustedText sut = read(write("a" + std::to_string(mode), "text", mode));
    EXPECT_EQ(sut.outcome, Outcome::read) << mode << sut.reason;
    EXPECT_EQ(sut.text, "text");
  }
}

TEST_F(TrustedFileTest, ReadsAnEmptyFileAndTheLargestOne) {
  EXPECT_EQ(read(write("empty", "")).outcome, Outcome::read);
  EXPECT_EQ(read(write("largest", std::string(100, 'x'))).text.size(), 100U);
  const TrustedText sut = read(write("larger", std::string(101, 'x')));
  EXPECT_EQ(sut.outcome, Outcome::refused);
  EXPECT_EQ(sut.reason, "has 101 bytes; at most 100 are read");
}

TEST_F(TrustedFileTest, RefusesWhatOthersCanWrite) {
  for (const mode_t mode : {0620, 0602, 0666}) {
    const TrustedText sut = read(write("b" + std::to_string(mode), "text", mode));
    EXPECT_EQ(sut.outcome, Outcome::refused);
    EXPECT_NE(sut.reason.find("written by others"), std::string::npos);
    EXPECT_EQ(sut.text, "");
  }
}

TEST_F(TrustedFileTest, RefusesWhatBelongsToSomebodyElse) {
  struct stat status {};
  status.st_mode = S_IFREG | 0600;
  status.st_uid = 0;
  EXPECT_EQ(why_not_trusted(status), "");
  status.st_uid = ::geteuid();
  EXPECT_EQ(why_not_trusted(status), "");
  status.st_uid = ::geteuid() + 1;
  EXPECT_NE(why_not_trusted(status).find("belongs to uid"), std::string::npos);
}

TEST_F(TrustedFileTest, TellsWhatIsNotThereFromWhatCannotBeRead) {
  EXPECT_EQ(read((folder_.path() + "/none")).outcome, Outcome::absent);
  EXPECT_EQ(read((folder_.path() + "/none/below")).outcome, Outcome::absent);
  fs::create_directory((folder_.path() + "/folder"));
  EXPECT_EQ(read((folder_.path() + "/folder")).reason, "is no regular file");
}

TEST_F(TrustedFileTest, DoesNotWaitForTheWriterOfAPipe) {
  ASSERT_EQ(::mkfifo((folder_.path() + "/pipe").c_str(), 0600), 0);
  EXPECT_EQ(read((folder_.path() + "/pipe")).reason, "is no regular file");
}

TEST_F(TrustedFileTest, FollowsALinkOnlyIfItMay) {
  fs::create_symlink(write("a", "text"), (folder_.path() + "/link"));
  EXPECT_EQ(read((folder_.path() + "/link")).text, "text");
  EXPECT_EQ(read((folder_.path() + "/link"), LinkRule::refuse).outcome, Outcome::refused);
  fs::create_symlink(write("open", "text", 0666), (folder_.path() + "/other"));
  EXPECT_EQ(read((folder_.path() + "/other")).outcome, Outcome::refused)
      << "what it points to counts";
}

}  // namespace
}  // namespace overlap
