#include "tests/bench/round_outcome.hpp"

#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

namespace overlap::bench {
namespace {

TEST(RoundOutcome, SurvivesItsLine) {
  RoundOutcome before{.jobs = 12'345'678'901, .seconds = 0.123456789012345};
  before.latency.add(1234);
  const RoundOutcome sut = RoundOutcome::from_line(before.to_line());
  EXPECT_EQ(sut.jobs, before.jobs);
  EXPECT_EQ(sut.seconds, before.seconds);
  EXPECT_EQ(sut.latency.worst_ns(), 1234U);
}

TEST(RoundOutcome, SaysWhatAChildSaidInstead) {
  try {
    static_cast<void>(RoundOutcome::from_line("a result is wrong"));
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("a result is wrong"), std::string::npos);
  }
}

TEST(RoundOutcome, RefusesALineThatIsCutShort) {
  for (const char* line : {"", "done", "done 1", "done 1 2", "ready 1 2 0"}) {
    EXPECT_THROW(static_cast<void>(RoundOutcome::from_line(line)), std::runtime_error) << line;
  }
}

}  // namespace
}  // namespace overlap::bench
