#include "daemon/option_value.hpp"

#include <gtest/gtest.h>

#include <array>
#include <chrono>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {
namespace {

using namespace std::chrono_literals;
using Names = std::vector<std::string>;

TEST(OptionValue, ReadsACountWithinItsRange) {
  EXPECT_EQ(read_count("1", 1, 64), 1U);
  EXPECT_EQ(read_count("64", 1, 64), 64U);
  EXPECT_EQ(read_count("4294967295", 0, std::numeric_limits<std::uint32_t>::max()), 4294967295U);
}

TEST(OptionValue, RefusesACountThatIsNoPlainNumberInRange) {
  for (const char* const text : {"", "0", "65", "-1", "+1", " 1", "1 ", "0x10", "1e1", "1.0", "nan",
                                 "inf", "64M", "auto", "4294967297", "18446744073709551617"}) {
    EXPECT_THROW(static_cast<void>(read_count(text, 1, 64)), OptionValueError) << text;
  }
}

TEST(OptionValue, ReadsAutoAsAnEmptyCount) {
  EXPECT_EQ(read_count_or_auto("auto", 1, 64), std::nullopt);
  EXPECT_EQ(read_count_or_auto("3", 1, 64), 3U);
  for (const char* const text : {"Auto", "automatic", "", "0"}) {
    EXPECT_THROW(static_cast<void>(read_count_or_auto(text, 1, 64)), OptionValueError) << text;
  }
}

TEST(OptionValue, ReadsASizeWithinItsRangeAndNamesBothEnds) {
  EXPECT_EQ(read_bytes("64K", 1, 65536), 65536U);
  try {
    static_cast<void>(read_bytes("65K", 4096, 65536));
    FAIL();
  } catch (const OptionValueError& error) {
    EXPECT_NE(std::string(error.what()).find("'65K' is not a size from 4KiB to 64KiB"),
              std::string::npos)
        << error.what();
  }
  for (const char* const text : {"0", "64 K", "-1", "nan", "18446744073709551616"}) {
    EXPECT_THROW(static_cast<void>(read_bytes(text, 1, 65536)), OptionValueError) << text;
  }
}

TEST(OptionValue, ReadsADurationUpToItsMaximum) {
  EXPECT_EQ(read_duration("1s", 1s), 1s);
  EXPECT_EQ(read_duration("0s", 1s), 0s);
  for (const char* const text : {"1001ms", "1", "-1s", "nans", "1 s"}) {
    EXPECT_THROW(static_cast<void>(read_duration(text, 1s)), OptionValueError) << text;
  }
}

TEST(OptionValue, ReadsAModeOfThreeOctalDigits) {
  EXPECT_EQ(read_mode("0660"), 0660U);
  EXPECT_EQ(read_mode("660"), 0660U);
  EXPECT_EQ(read_mode("000"), 0U);
  EXPECT_EQ(read_mode("0777"), 0777U);
  for (const char* const text : {"", "66", "06600", "1660", "0668", "0x1b", "-660", "rw-"}) {
    EXPECT_THROW(static_cast<void>(read_mode(text)), OptionValueError) << text;
  }
}

TEST(OptionValue, ReadsYesAndNoAndNothingElse) {
  EXPECT_TRUE(read_yes_no("yes"));
  EXPECT_FALSE(read_yes_no("no"));
  for (const char* const text : {"", "Yes", "true", "1", "on", "y"}) {
    EXPECT_THROW(static_cast<void>(read_yes_no(text)), OptionValueError) << text;
  }
}

TEST(OptionValue, ReadsNamesSeparatedByCommas) {
  EXPECT_EQ(read_names("any"), Names{});
  EXPECT_EQ(read_names("video"), Names{"video"});
  EXPECT_EQ(read_names("video,1000,radio"), (Names{"video", "1000", "radio"}));
  for (const char* const text : {"", ",", "video,", ",video", "a,,b", "a, b"}) {
    EXPECT_THROW(static_cast<void>(read_names(text)), OptionValueError) << text;
  }
}

TEST(OptionValue, FindsAWordAndListsThemAllWhenItDoesNot) {
  constexpr std::array<std::string_view, 2> kWords{"single", "three"};
  EXPECT_EQ(read_word("three", kWords), 1U);
  try {
    static_cast<void>(read_word("two", kWords));
    FAIL();
  } catch (const OptionValueError& error) {
    EXPECT_STREQ(error.what(), "'two' is not one of single, three");
  }
}

TEST(OptionValue, IsPathsSeparatedByColons) {
  EXPECT_EQ(read_paths("/a"), std::vector<std::string>{"/a"});
  EXPECT_EQ(read_paths("/a b:c:./d,e"), (std::vector<std::string>{"/a b", "c", "./d,e"}));
  for (const char* const text : {"", ":", "/a:", ":/a", "/a::/b"}) {
    EXPECT_THROW(read_paths(text), OptionValueError) << text;
  }
}

}  // namespace
}  // namespace overlap
