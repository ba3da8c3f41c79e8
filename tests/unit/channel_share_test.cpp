#include "daemon/control/channel_share.hpp"

#include "tests/unit/says.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

namespace overlap {
namespace {

using enum ChannelPriority;

AttachRequest request_of(ChannelPriority priority, std::uint32_t weight) {
  AttachRequest request = make_attach_request({4, 4096, 4096, 0}, std::vector<std::string>{"copy"});
  request.priority = priority;
  request.weight = weight;
  return request;
}

::testing::AssertionResult is_refused(const AttachRequest& request, const ShareLimits& limits,
                                      AttachCode code,
                                      std::initializer_list<std::string_view> parts) {
  const auto sut = plan_share(request, limits);
  const auto* refused = std::get_if<ShareRefusal>(&sut);
  if (refused == nullptr || refused->code != code) {
    return ::testing::AssertionFailure() << "granted, or refused for another reason";
  }
  return testing::says(refused->text, parts);
}

ChannelShare granted(const AttachRequest& request, const ShareLimits& limits = {}) {
  return std::get<ChannelShare>(plan_share(request, limits));
}

TEST(ChannelShare, IsWhatIsAskedFor) {
  for (const ChannelPriority priority : {low, normal, high}) {
    for (const std::uint32_t weight : {1U, 2U, kMaxChannelWeight}) {
      EXPECT_EQ(granted(request_of(priority, weight)), (ChannelShare{priority, weight}));
    }
  }
}

TEST(ChannelShare, IsTheDefaultForAProducerThatKnowsNothingOfIt) {
  EXPECT_EQ(granted(request_of(ChannelPriority{0}, 0)), ChannelShare{});
}

TEST(ChannelShare, RefusesAPriorityThatIsNone) {
  for (const std::uint32_t number : {3U, UINT32_MAX}) {
    EXPECT_TRUE(
        is_refused(request_of(ChannelPriority{number}, 1), {}, AttachCode::feature_missing,
                   {"priority " + std::to_string(number), "normal (0)", "high (1)", "low (2)"}));
  }
}

TEST(ChannelShare, RefusesAPriorityAboveTheLimit) {
  EXPECT_TRUE(is_refused(request_of(high, 1), {normal, 64}, AttachCode::not_permitted,
                         {"high", "normal (0)", "max-priority"}));
  EXPECT_TRUE(is_refused(request_of(high, 1), {low, 64}, AttachCode::not_permitted,
                         {"high", "low (2)", "max-priority"}));
  EXPECT_EQ(granted(request_of(low, 1), {normal, 64}).priority, low);
}

TEST(ChannelShare, IsTheHighestThereIsForWhoAsksForNothing) {
  EXPECT_EQ(granted(request_of(normal, 1), {low, 64}).priority, low);
}

TEST(ChannelShare, RefusesAWeightAboveTheLimit) {
  EXPECT_TRUE(is_refused(request_of(normal, 9), {high, 8}, AttachCode::not_permitted,
                         {"weight 9", "1 to 8", "max-weight"}));
  EXPECT_EQ(granted(request_of(normal, 8), {high, 8}).weight, 8U);
  for (const std::uint32_t weight : {kMaxChannelWeight + 1, UINT32_MAX}) {
    EXPECT_TRUE(is_refused(request_of(normal, weight), {}, AttachCode::not_permitted,
                           {"weight " + std::to_string(weight), "1 to 64"}));
  }
}

}  // namespace
}  // namespace overlap
