#include "daemon/exit_code.hpp"

#include <gtest/gtest.h>

#include <sysexits.h>

#include <set>

namespace overlap {
namespace {

TEST(ExitCode, HasTheNumbersThatUnitsAndScriptsRelyOn) {
  EXPECT_EQ(static_cast<int>(ExitCode::ok), 0);
  EXPECT_EQ(static_cast<int>(ExitCode::failed), 1);
  EXPECT_EQ(static_cast<int>(ExitCode::no_socket), 3);
  EXPECT_EQ(static_cast<int>(ExitCode::no_device), 4);
  EXPECT_EQ(static_cast<int>(ExitCode::device_lost), EX_SOFTWARE);
  EXPECT_EQ(static_cast<int>(ExitCode::configuration), EX_CONFIG);
}

TEST(ExitCode, TellsEveryEndApartAndFitsAByte) {
  std::set<int> seen;
  for (const ExitCode code : {ExitCode::ok, ExitCode::failed, ExitCode::configuration,
                              ExitCode::no_socket, ExitCode::no_device, ExitCode::device_lost}) {
    const int number = static_cast<int>(code);
    EXPECT_TRUE(seen.insert(number).second) << number;
    // From 126 up a shell speaks of itself or of a signal.
    EXPECT_TRUE(number >= 0 && number < 126) << number;
  }
}

}  // namespace
}  // namespace overlap
