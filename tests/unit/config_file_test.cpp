#include "daemon/config_file.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {
namespace {

constexpr const char* kFile = "overlapd.conf";

ConfigEntry only_entry(std::string_view text) {
  const std::vector<ConfigEntry> entries = parse_config(text, kFile);
  EXPECT_EQ(entries.size(), 1U) << text;
  return entries.empty() ? ConfigEntry{} : entries.front();
}

TEST(ConfigFile, IsEmptyWithoutEntries) {
  for (const char* const text : {"", "\n", "\n\n", "  \t\n", "# words\n", "  # lanes = 4", "\r\n",
                                 "\xEF\xBB\xBF", "\xEF\xBB\xBF# words\n"}) {
    EXPECT_TRUE(parse_config(text, kFile).empty()) << text;
  }
}

TEST(ConfigFile, ReadsKeysAndValuesAndCountsLines) {
  const auto sut = parse_config("# first\nlanes = 4\n\ndepth=2\n\tsocket\t=\t/a b \n", kFile);
  ASSERT_EQ(sut.size(), 3U);
  EXPECT_EQ(sut[0].line, 2U);
  EXPECT_EQ(sut[0].key, "lanes");
  EXPECT_EQ(sut[0].value, "4");
  EXPECT_EQ(sut[1].line, 4U);
  EXPECT_EQ(sut[1].key, "depth");
  EXPECT_EQ(sut[2].line, 5U);
  EXPECT_EQ(sut[2].key, "socket");
  EXPECT_EQ(sut[2].value, "/a b");
}

TEST(ConfigFile, KeepsTheWholeValue) {
  EXPECT_EQ(only_entry("path=/a#b").value, "/a#b");
  EXPECT_EQ(only_entry("path=a=b").value, "a=b");
  EXPECT_EQ(only_entry("path=--slots=3").value, "--slots=3");
  EXPECT_EQ(only_entry("path=/a;b").value, "/a;b");
  EXPECT_EQ(only_entry("path=/it's/here").value, "/it's/here");
  EXPECT_EQ(only_entry("path=/\xC3\xA9").value, "/\xC3\xA9");
}

TEST(ConfigFile, AcceptsAByteOrderMarkCarriageReturnsAndNoLastNewline) {
  EXPECT_EQ(only_entry("\xEF\xBB\xBFlanes = 4\r\n").key, "lanes");
  EXPECT_EQ(only_entry("lanes = 4\r\n").value, "4");
  EXPECT_EQ(only_entry("lanes = 4").value, "4");
}

struct Refused {
  const char* text;
  std::size_t line;
  const char* key;
  const char* reason;
};

TEST(ConfigFile, RefusesWhatCouldMeanSomethingElseWithFileLineAndKey) {
  for (const Refused& refused : {
           Refused{"[gpu]\nlanes=4", 1, "", "no sections"},
           Refused{"lanes=4\n  [gpu]", 2, "", "no sections"},
           Refused{"; words", 1, "", "key = value"},
           Refused{"lanes", 1, "", "key = value"},
           Refused{"lanes 4", 1, "", "key = value"},
           Refused{"=4", 1, "", "no such key"},
           Refused{"Lanes=4", 1, "Lanes", "no such key"},
           Refused{"lane s=4", 1, "lane s", "no such key"},
           Refused{"--lanes=4", 1, "--lanes", "no such key"},
           Refused{"\n\xEF\xBB\xBFlanes=4", 2, "\xEF\xBB\xBFlanes", "no such key"},
           Refused{"path=", 1, "path", "empty"},
           Refused{"path = \t", 1, "path", "empty"},
           Refused{"path=\"/a b\"", 1, "path", "quotes"},
           Refused{"path='/a b'", 1, "path", "quotes"},
           Refused{"path=/a b\"", 1, "path", "quotes"},
           Refused{"lanes = 4 # four", 1, "lanes", "line of its own"},
           Refused{"lanes = 4\t#four", 1, "lanes", "line of its own"},
           Refused{"path = #b", 1, "path", "line of its own"},
           Refused{"path=/a\rdepth=2", 1, "path", "control character"},
           Refused{"lanes=4\ndepth=2\nlanes=4", 3, "lanes", "line 1"},
       }) {
    try {
      static_cast<void>(parse_config(refused.text, kFile));
      ADD_FAILURE() << "accepted: " << refused.text;
    } catch (const OptionsError& error) {
      EXPECT_EQ(error.file(), kFile) << refused.text;
      EXPECT_EQ(error.line(), refused.line) << refused.text;
      EXPECT_EQ(error.key(), refused.key) << refused.text;
      const std::string what = error.what();
      EXPECT_NE(what.find(refused.reason), std::string::npos) << what;
      EXPECT_EQ(what.find("overlapd.conf:" + std::to_string(refused.line)), 0U) << what;
    }
  }
}

TEST(ConfigFile, TakesWhatMayRepeatAsOftenAsItIsThere) {
  constexpr std::array<std::string_view, 1> kRepeatable{"path"};
  const auto sut = parse_config("path=/a\nlanes=4\npath=/b\npath=/a", kFile, kRepeatable);
  ASSERT_EQ(sut.size(), 4U);
  EXPECT_EQ(sut[0].value, "/a");
  EXPECT_EQ(sut[2].value, "/b");
  EXPECT_EQ(sut[3].line, 4U);
  EXPECT_THROW(static_cast<void>(parse_config("lanes=4\nlanes=4", kFile, kRepeatable)),
               OptionsError);
}

TEST(ConfigFile, RefusesAFileThatIsNotThereOrIsADirectory) {
  for (const char* const file : {"/nowhere/overlapd.conf", "/proc"}) {
    try {
      static_cast<void>(read_config_file(file));
      ADD_FAILURE() << "accepted: " << file;
    } catch (const OptionsError& error) {
      EXPECT_EQ(error.file(), file);
      EXPECT_NE(std::string(error.what()).find("cannot be"), std::string::npos) << error.what();
    }
  }
}

}  // namespace
}  // namespace overlap
