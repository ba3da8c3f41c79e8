#include "tests/bench/role_options.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace overlap::bench {
namespace {

TEST(RoleOptions, SurviveTheCommandLine) {
  RoleOptions before;
  before.role = "producer";
  before.socket_path = "/a folder/socket";
  before.slot_bytes = 1U << 20U;
  before.slot_count = 17;
  before.work = Work::vector_add;
  before.repeat = 50;
  before.spin = std::chrono::hours(1);
  before.count = 3;
  before.thread_count = 5;
  before.index = 2;
  before.element_count = 1ULL << 40U;
  const RoleOptions sut = RoleOptions::from_arguments(before.to_arguments());
  EXPECT_EQ(sut.role, before.role);
  EXPECT_EQ(sut.socket_path, before.socket_path);
  EXPECT_EQ(sut.slot_bytes, before.slot_bytes);
  EXPECT_EQ(sut.slot_count, before.slot_count);
  EXPECT_EQ(sut.work, before.work);
  EXPECT_EQ(sut.repeat, before.repeat);
  EXPECT_EQ(sut.spin, before.spin);
  EXPECT_EQ(sut.count, before.count);
  EXPECT_EQ(sut.thread_count, before.thread_count);
  EXPECT_EQ(sut.index, before.index);
  EXPECT_EQ(sut.element_count, before.element_count);
}

TEST(RoleOptions, TellNoSpinFromASpinOfNothing) {
  RoleOptions before;
  EXPECT_FALSE(RoleOptions::from_arguments(before.to_arguments()).spin.has_value());
  before.spin = std::chrono::nanoseconds(0);
  EXPECT_EQ(RoleOptions::from_arguments(before.to_arguments()).spin, std::chrono::nanoseconds(0));
}

TEST(RoleOptions, AreMeantOnlyWhereARoleComesFirst) {
  EXPECT_TRUE(RoleOptions::are_meant({"--role", "producer"}));
  EXPECT_FALSE(RoleOptions::are_meant({}));
  EXPECT_FALSE(RoleOptions::are_meant({"--quick"}));
}

TEST(RoleOptions, RefuseWhatIsNoNumber) {
  EXPECT_THROW(static_cast<void>(RoleOptions::from_arguments({"--role", "x", "--slots", "8x"})),
               std::runtime_error);
}

}  // namespace
}  // namespace overlap::bench
