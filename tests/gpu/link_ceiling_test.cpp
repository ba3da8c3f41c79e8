#include "daemon/device/link_ceiling.hpp"

#include "tests/gpu/cuda_fixture.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdint>
#include <string>

namespace overlap::test {
namespace {

TEST(LinkCeiling, IsNotMeasuredWithCopiesOfNoSize) {
  for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{1} << 40U}) {
    const LinkProbe probe = measure_link(bytes, std::chrono::milliseconds(1));
    EXPECT_FALSE(probe.ceiling.has_value());
    EXPECT_NE(probe.why_not.find(std::to_string(bytes)), std::string::npos) << probe.why_not;
  }
}

using LinkCeilingOnGpu = CudaFixture;

TEST_F(LinkCeilingOnGpu, IsMeasuredEachWayAndBothWays) {
  const LinkProbe probe = measure_link(std::uint64_t{1} << 20U, std::chrono::milliseconds(30));
  ASSERT_TRUE(probe.ceiling.has_value()) << probe.why_not;
  EXPECT_GT(probe.ceiling->host_to_device, 0);
  EXPECT_GT(probe.ceiling->device_to_host, 0);
  EXPECT_GT(probe.ceiling->each_way_of_both, 0);
}

}  // namespace
}  // namespace overlap::test
