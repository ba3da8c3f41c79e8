#include "daemon/device/device_choice.hpp"

#include "daemon/device/cuda_factory.hpp"
#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

namespace overlap {
namespace {

bool has_gpu() { return make_cuda_device(0).device != nullptr; }

TEST(DeviceChoice, GivesTheHostWhenItIsAskedFor) {
  const ChosenDevice sut = choose_device(BackendRequest::host, 0, 0);
  ASSERT_NE(sut.device, nullptr);
  EXPECT_EQ(sut.device->properties().backend, "host");
  EXPECT_TRUE(sut.device->properties().works_in_place);
  EXPECT_EQ(sut.note, "asked for");
}

TEST(DeviceChoice, GivesTheHostAsManyWorkersAsAskedFor) {
  EXPECT_TRUE(testing::says(choose_device(BackendRequest::host, 0, 3).device->properties().name,
                            {"3 worker"}));
  EXPECT_TRUE(testing::says(choose_device(BackendRequest::host, 0, 0).device->properties().name,
                            {"engine's thread"}));
}

TEST(DeviceChoice, IgnoresTheGpuNumberOnTheHost) {
  EXPECT_NE(choose_device(BackendRequest::host, 4'000'000'000U, 0).device, nullptr);
}

TEST(DeviceChoice, FallsBackToTheHostWithTheReasonWhereThereIsNoGpu) {
  if (has_gpu()) {
    GTEST_SKIP() << "there is a GPU";
  }
  const ChosenDevice sut = choose_device(BackendRequest::automatic, 0, 0);
  ASSERT_NE(sut.device, nullptr);
  EXPECT_EQ(sut.device->properties().backend, "host");
  EXPECT_EQ(sut.note, make_cuda_device(0).why_not);
  EXPECT_FALSE(sut.note.empty());
}

TEST(DeviceChoice, GivesNothingRatherThanTheHostWhereAGpuIsDemanded) {
  if (has_gpu()) {
    GTEST_SKIP() << "there is a GPU";
  }
  const ChosenDevice sut = choose_device(BackendRequest::cuda, 0, 0);
  EXPECT_EQ(sut.device, nullptr);
  EXPECT_TRUE(testing::says(sut.note, {"backend=cuda", make_cuda_device(0).why_not}));
}

TEST(DeviceChoice, GivesNothingForAGpuNumberThatIsNotThere) {
  const ChosenDevice sut = choose_device(BackendRequest::cuda, 4096, 0);
  EXPECT_EQ(sut.device, nullptr);
  EXPECT_TRUE(testing::says(sut.note, {"backend=cuda"}));
}

TEST(DeviceChoice, TakesTheGpuWhereThereIsOne) {
  if (!has_gpu()) {
    GTEST_SKIP() << "there is no GPU";
  }
  for (const BackendRequest request : {BackendRequest::automatic, BackendRequest::cuda}) {
    const ChosenDevice sut = choose_device(request, 0, 0);
    ASSERT_NE(sut.device, nullptr);
    EXPECT_EQ(sut.device->properties().backend, "cuda");
  }
}

}  // namespace
}  // namespace overlap
