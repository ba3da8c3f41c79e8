#include "daemon/engine/path_choice.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>

namespace overlap {
namespace {

constexpr std::uint64_t kKiB = 1024;
constexpr std::uint64_t kMiB = 1024 * kKiB;

struct Case {
  std::optional<Path> only;
  bool reaches_slots;
  bool may_map;
  std::uint64_t average_job_bytes;
  std::uint64_t batch_bytes;
  Path expected;
};

/// With the defaults: copy engines from 64 KiB a job and 2 MiB a batch.
constexpr std::array kCases = {
    // By size.
    Case{{}, true, true, 1, 1, Path::mapped},
    Case{{}, true, true, 4 * kKiB, 16 * kMiB, Path::mapped},
    Case{{}, true, true, 64 * kKiB - 1, 16 * kMiB, Path::mapped},
    Case{{}, true, true, 64 * kKiB, 2 * kMiB - 1, Path::mapped},
    Case{{}, true, true, 64 * kKiB, 2 * kMiB, Path::copy},
    Case{{}, true, true, 16 * kMiB, 16 * kMiB, Path::copy},
    Case{{}, true, true, UINT64_MAX, UINT64_MAX, Path::copy},
    // The same for a kernel that reads its input more than once.
    Case{{}, true, false, 1, 1, Path::gather},
    Case{{}, true, false, 64 * kKiB - 1, 16 * kMiB, Path::gather},
    Case{{}, true, false, 64 * kKiB, 2 * kMiB - 1, Path::gather},
    Case{{}, true, false, 64 * kKiB, 2 * kMiB, Path::copy},
    // Kernels that do not reach the slots.
    Case{{}, false, true, 1, 1, Path::copy},
    Case{Path::mapped, false, true, 1, 1, Path::copy},
    Case{Path::gather, false, true, 1, 1, Path::copy},
    Case{Path::copy, false, false, 1, 1, Path::copy},
    // One path alone, whatever the size.
    Case{Path::copy, true, true, 1, 1, Path::copy},
    Case{Path::copy, true, false, 16 * kMiB, 16 * kMiB, Path::copy},
    Case{Path::gather, true, true, 1, 1, Path::gather},
    Case{Path::gather, true, true, 16 * kMiB, 16 * kMiB, Path::gather},
    Case{Path::mapped, true, true, 1, 1, Path::mapped},
    Case{Path::mapped, true, true, 16 * kMiB, 16 * kMiB, Path::mapped},
    // Mapped where the kernel may be; its next of kin where it may not.
    Case{Path::mapped, true, false, 1, 1, Path::gather},
    Case{Path::mapped, true, false, 16 * kMiB, 16 * kMiB, Path::gather},
};

constexpr bool is_as_expected(const Case& sut) {
  PathSettings settings;
  settings.only = sut.only;
  return choose_path(settings, sut.reaches_slots, sut.may_map, sut.average_job_bytes,
                     sut.batch_bytes) == sut.expected;
}

static_assert(std::all_of(kCases.begin(), kCases.end(), is_as_expected));

TEST(PathChoice, IsAsInTheTable) {
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    EXPECT_TRUE(is_as_expected(kCases[i])) << "row " << i;
  }
}

TEST(PathChoice, FollowsItsSettings) {
  constexpr PathSettings kSut = {
      .only = {}, .copy_from_job_bytes = 100, .copy_from_batch_bytes = 1000};
  EXPECT_EQ(choose_path(kSut, true, true, 99, 5000), Path::mapped);
  EXPECT_EQ(choose_path(kSut, true, true, 100, 999), Path::mapped);
  EXPECT_EQ(choose_path(kSut, true, true, 100, 1000), Path::copy);
  constexpr PathSettings kAlwaysEngines = {
      .only = {}, .copy_from_job_bytes = 1, .copy_from_batch_bytes = 1};
  EXPECT_EQ(choose_path(kAlwaysEngines, true, true, 1, 1), Path::copy);
}

}  // namespace
}  // namespace overlap
