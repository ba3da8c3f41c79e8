#include "shared/duration_text.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <optional>
#include <string>

namespace overlap {
namespace {

using namespace std::chrono_literals;

TEST(DurationText, ReadsDigitsAndExactlyTheFourUnits) {
  EXPECT_EQ(parse_duration("7ns"), 7ns);
  EXPECT_EQ(parse_duration("50us"), 50us);
  EXPECT_EQ(parse_duration("1ms"), 1ms);
  EXPECT_EQ(parse_duration("2s"), 2s);
  EXPECT_EQ(parse_duration("0s"), 0s);
  EXPECT_EQ(parse_duration("9223372036854775807ns"), std::chrono::nanoseconds::max());
  EXPECT_EQ(parse_duration("9223372036s"), 9'223'372'036s);
}

TEST(DurationText, RefusesEverythingElse) {
  for (const char* const text : {"",
                                 "s",
                                 "ms",
                                 "0",
                                 "50",
                                 "50 us",
                                 " 50us",
                                 "50us ",
                                 "1.5ms",
                                 "-1s",
                                 "+1s",
                                 "1e3us",
                                 "0x1s",
                                 "1m",
                                 "1min",
                                 "1h",
                                 "1S",
                                 "1MS",
                                 "1µs",
                                 "1sec",
                                 "nan",
                                 "inf",
                                 "infs",
                                 "9223372036854775808ns",
                                 "9223372037s",
                                 "99999999999999999999s"}) {
    EXPECT_EQ(parse_duration(text), std::nullopt) << "'" << text << "'";
  }
}

TEST(DurationText, WritesTheLargestUnitThatIsExact) {
  EXPECT_EQ(format_duration(0ns), "0s");
  EXPECT_EQ(format_duration(1ns), "1ns");
  EXPECT_EQ(format_duration(50us), "50us");
  EXPECT_EQ(format_duration(1500ms), "1500ms");
  EXPECT_EQ(format_duration(120s), "120s");
  EXPECT_EQ(format_duration(1s + 1ns), "1000000001ns");
}

TEST(DurationText, ReadsBackWhatItWrites) {
  for (const std::chrono::nanoseconds duration :
       {0ns, 1ns, 999ns, 1000ns, 1'000'001ns, std::chrono::nanoseconds(1h),
        std::chrono::nanoseconds::max()}) {
    EXPECT_EQ(parse_duration(format_duration(duration)), duration);
  }
}

}  // namespace
}  // namespace overlap
