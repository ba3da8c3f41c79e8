#include "producer/send/send_options.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

namespace overlap {
namespace {

SendOptions read(const std::vector<std::string>& words) { return read_send_options(words); }

TEST(SendOptions, HasDefaultsForAllButTheKernel) {
  const SendOptions sut = read({"--kernel", "copy"});
  EXPECT_EQ(sut.kernel, "copy");
  EXPECT_TRUE(sut.reads_pattern());
  EXPECT_EQ(sut.slot_bytes, 1U << 20U);
  EXPECT_EQ(sut.slot_count, 8U);
  EXPECT_EQ(sut.count, 1U);
  EXPECT_FALSE(sut.output);
  EXPECT_FALSE(sut.verify);
  EXPECT_THROW(read({}), UsageError);
}

TEST(SendOptions, ReadsEveryOption) {
  const SendOptions sut = read({"--socket=/s", "--kernel=scale:a=2", "--input", "file",
                                "--slot-bytes=64KiB", "--slots=3", "--count=7", "--output", "-",
                                "--verify", "--quiet", "--resume-timeout=1500ms"});
  EXPECT_EQ(sut.socket_path, "/s");
  EXPECT_EQ(sut.kernel, "scale:a=2");
  EXPECT_EQ(sut.input, "file");
  EXPECT_EQ(sut.slot_bytes, 65536U);
  EXPECT_EQ(sut.slot_count, 3U);
  EXPECT_EQ(sut.count, 7U);
  EXPECT_EQ(sut.output, "-");
  EXPECT_TRUE(sut.verify && sut.quiet);
  EXPECT_EQ(sut.resume_timeout, std::chrono::milliseconds(1500));
}

TEST(SendOptions, CountsTheStagesOfTablesFromOne) {
  const SendOptions sut = read({"--kernel=fir|lut", "--table", "1=taps", "--table=2=a=b"});
  EXPECT_EQ(sut.tables, (std::vector<TableFile>{{0, "taps"}, {1, "a=b"}}));
  EXPECT_TRUE(read({"--kernel=copy"}).tables.empty());
}

TEST(SendOptions, AllowsAnEmptyPattern) {
  EXPECT_EQ(read({"--kernel=copy", "--input-bytes=0"}).input_bytes, 0U);
}

struct SendOptionsRefusal : ::testing::TestWithParam<std::vector<std::string>> {};

TEST_P(SendOptionsRefusal, IsAnErrorAndNotAGuess) {
  std::vector<std::string> words{"--kernel=copy"};
  words.insert(words.end(), GetParam().begin(), GetParam().end());
  EXPECT_THROW(read(words), UsageError);
}

INSTANTIATE_TEST_SUITE_P(
    Words, SendOptionsRefusal,
    ::testing::Values(
        std::vector<std::string>{"--slots=-1"}, std::vector<std::string>{"--slots=0"},
        std::vector<std::string>{"--slots="}, std::vector<std::string>{"--slots=0x10"},
        std::vector<std::string>{"--slots=1e6"}, std::vector<std::string>{"--slots= 4"},
        std::vector<std::string>{"--slots=4294967297"}, std::vector<std::string>{"--slot=4"},
        std::vector<std::string>{"--slot-b=4"}, std::vector<std::string>{"--input", "--slots=3"},
        std::vector<std::string>{"--input"}, std::vector<std::string>{"junk"},
        std::vector<std::string>{"-slots=3"}, std::vector<std::string>{"--unknown"},
        std::vector<std::string>{"--slots=1", "--slots=2"},
        std::vector<std::string>{"--kernel=scale"}, std::vector<std::string>{"--slot-bytes=1.5M"},
        std::vector<std::string>{"--slot-bytes=0"}, std::vector<std::string>{"--count=0"},
        std::vector<std::string>{"--count=18446744073709551616"},
        std::vector<std::string>{"--resume-timeout=30"},
        std::vector<std::string>{"--input-bytes=8", "--count=2"},
        std::vector<std::string>{"--input-bytes=8", "--input=file"},
        std::vector<std::string>{"--input=-", "--count=2"},
        std::vector<std::string>{"--json", "--output=-"}, std::vector<std::string>{"--table=taps"},
        std::vector<std::string>{"--table=1="}, std::vector<std::string>{"--table==taps"},
        std::vector<std::string>{"--table=0=taps"}, std::vector<std::string>{"--table=257=taps"},
        std::vector<std::string>{"--table=x=taps"}));

TEST(SendOptions, HelpNamesEveryExitCode) {
  EXPECT_TRUE(read({"--help"}).help);
  for (const char* code : {"  0 ", "  1 ", "  2 ", "  3 ", "  4 ", "130", "143"}) {
    EXPECT_NE(send_help().find(code), std::string::npos) << code;
  }
}

}  // namespace
}  // namespace overlap
