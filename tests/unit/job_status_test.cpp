#include "shared/job_status.hpp"

#include <gtest/gtest.h>

#include <cstdint>
#include <set>
#include <string_view>

namespace overlap {
namespace {

// Numbers on the wire and in the rings, a second time: a change here is incompatible.
static_assert(static_cast<int>(JobStatus::ok) == 0);
static_assert(static_cast<int>(JobStatus::input_size_refused) == 1);
static_assert(static_cast<int>(JobStatus::output_too_small) == 2);
static_assert(static_cast<int>(JobStatus::request_refused) == 3);
static_assert(static_cast<int>(JobStatus::deadline_passed) == 4);
static_assert(static_cast<int>(JobStatus::cancelled) == 5);
static_assert(static_cast<int>(JobStatus::kernel_failed) == 6);
static_assert(static_cast<int>(JobStatus::device_lost) == 7);
static_assert(static_cast<int>(JobStatus::state_lost) == 8);
constexpr std::uint32_t kExpectedStatusCount = 9;

static_assert(static_cast<int>(CloseReason::none) == 0);
static_assert(static_cast<int>(CloseReason::violation) == 1);
static_assert(static_cast<int>(CloseReason::limit) == 2);
static_assert(static_cast<int>(CloseReason::drain) == 3);
constexpr std::uint32_t kExpectedReasonCount = 4;

static_assert(static_cast<int>(AttachCode::accepted) == 0);
static_assert(static_cast<int>(AttachCode::malformed_request) == 1);
static_assert(static_cast<int>(AttachCode::version_mismatch) == 2);
static_assert(static_cast<int>(AttachCode::platform_mismatch) == 3);
static_assert(static_cast<int>(AttachCode::feature_missing) == 4);
static_assert(static_cast<int>(AttachCode::geometry_refused) == 5);
static_assert(static_cast<int>(AttachCode::pipeline_refused) == 6);
static_assert(static_cast<int>(AttachCode::not_permitted) == 7);
static_assert(static_cast<int>(AttachCode::daemon_full) == 8);
static_assert(static_cast<int>(AttachCode::memory_refused) == 9);
static_assert(static_cast<int>(AttachCode::pinning_failed) == 10);
static_assert(static_cast<int>(AttachCode::stopping) == 11);
static_assert(static_cast<int>(AttachCode::timed_out) == 12);
constexpr std::uint32_t kExpectedCodeCount = 13;

/// The text of every number below `count`; one that two numbers share counts once.
template <class Enum>
std::set<std::string_view> texts_below(std::uint32_t count,
                                       std::string_view (*text_of)(Enum) noexcept) {
  std::set<std::string_view> texts;
  for (std::uint32_t number = 0; number < count; ++number) {
    texts.insert(text_of(static_cast<Enum>(number)));
  }
  return texts;
}

TEST(JobStatus, HasATextOfItsOwnForEveryStatus) {
  const auto sut = texts_below<JobStatus>(kExpectedStatusCount, status_text);
  EXPECT_EQ(sut.size(), kExpectedStatusCount);
  EXPECT_FALSE(sut.contains("unknown status"));
  EXPECT_FALSE(sut.contains(""));
}

TEST(JobStatus, CallsEveryNumberOfALaterVersionUnknown) {
  for (std::uint32_t number = kExpectedStatusCount; number <= UINT16_MAX; ++number) {
    ASSERT_EQ(status_text(static_cast<JobStatus>(number)), "unknown status") << number;
  }
}

TEST(CloseReason, HasATextOfItsOwnForEveryReason) {
  const auto sut = texts_below<CloseReason>(kExpectedReasonCount, close_reason_text);
  EXPECT_EQ(sut.size(), kExpectedReasonCount);
  EXPECT_FALSE(sut.contains("unknown reason"));
  for (const std::uint32_t number : {kExpectedReasonCount, 100U, UINT32_MAX}) {
    EXPECT_EQ(close_reason_text(static_cast<CloseReason>(number)), "unknown reason");
  }
}

TEST(AttachCode, HasATextOfItsOwnForEveryCode) {
  const auto sut = texts_below<AttachCode>(kExpectedCodeCount, attach_code_text);
  EXPECT_EQ(sut.size(), kExpectedCodeCount);
  EXPECT_FALSE(sut.contains("unknown code"));
  for (const std::uint32_t number : {kExpectedCodeCount, 100U, UINT32_MAX}) {
    EXPECT_EQ(attach_code_text(static_cast<AttachCode>(number)), "unknown code");
  }
}

}  // namespace
}  // namespace overlap
