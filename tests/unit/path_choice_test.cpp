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
  std::uint64_t bytes_a_copy = kMiB;
};

/// With the defaults: copy engines from 64 KiB a job, 2 MiB a batch and 1 MiB a copy.
constexpr std::array kCases = {
    // By size.
    Case{{}, true, true, 1, 1, Path::mapped},
    Case{{}, true, true, 4 * kKiB, 16 * kMiB, Path::mapped},
    Case{{}, true, true, 64 * kKiB - 1, 16 * kMiB, Path::mapped},
    Case{{}, true, true, 64 * kKiB, 2 * kMiB - 1, Path::mapped},
    Case{{}, true, true, 64 * kKiB, 2 * kMiB, Path::copy},
    Case{{}, true, true, 16 * kMiB, 16 * kMiB, Path::copy},
    Case{{}, true, true, UINT64_MAX, UINT64_MAX, Path::copy},
    Case{{}, true, true, 64 * kKiB, 2 * kMiB, Path::mapped, kMiB - 1},
    Case{{}, true, true, 16 * kMiB, 16 * kMiB, Path::mapped, kMiB - 1},
    Case{{}, true, true, 64 * kKiB, 2 * kMiB - 1, Path::mapped, 2 * kMiB},
    // The same for a kernel that reads its input more than once.
    Case{{}, true, false, 1, 1, Path::gather},
    Case{{}, true, false, 64 * kKiB - 1, 16 * kMiB, Path::gather},
    Case{{}, true, false, 64 * kKiB, 2 * kMiB - 1, Path::gather},
    Case{{}, true, false, 64 * kKiB, 2 * kMiB, Path::copy},
    Case{{}, true, false, 64 * kKiB, 2 * kMiB, Path::gather, kMiB - 1},
    // Kernels that do not reach the slots.
    Case{{}, false, true, 1, 1, Path::copy},
    Case{{}, false, true, 64 * kKiB, 2 * kMiB, Path::copy, 1},
    Case{Path::mapped, false, true, 1, 1, Path::copy},
    Case{Path::gather, false, true, 1, 1, Path::copy},
    Case{Path::copy, false, false, 1, 1, Path::copy},
    // One path alone, whatever the size.
    Case{Path::copy, true, true, 1, 1, Path::copy},
    Case{Path::copy, true, true, 1, 1, Path::copy, 1},
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
                     sut.batch_bytes, [&] { return sut.bytes_a_copy; }) == sut.expected;
}

static_assert(std::all_of(kCases.begin(), kCases.end(), is_as_expected));

TEST(PathChoice, IsAsInTheTable) {
  for (std::size_t i = 0; i < kCases.size(); ++i) {
    EXPECT_TRUE(is_as_expected(kCases[i])) << "row " << i;
  }
}

TEST(PathChoice, FollowsItsSettings) {
  static constexpr PathSettings kSut = {.only = {},
                                        .copy_from_job_bytes = 100,
                                        .copy_from_batch_bytes = 1000,
                                        .copy_from_bytes_a_copy = 500};
  const auto chosen = [](std::uint64_t job, std::uint64_t batch, std::uint64_t copy) {
    return choose_path(kSut, true, true, job, batch, [&] { return copy; });
  };
  EXPECT_EQ(chosen(99, 5000, 500), Path::mapped);
  EXPECT_EQ(chosen(100, 999, 500), Path::mapped);
  EXPECT_EQ(chosen(100, 1000, 499), Path::mapped);
  EXPECT_EQ(chosen(100, 1000, 500), Path::copy);
  constexpr PathSettings kSmallBatches = {.only = {}, .copy_from_batch_bytes = 70'000};
  EXPECT_EQ(choose_path(kSmallBatches, true, true, 80'000, 80'000, [] { return 80'000U; }),
            Path::copy)
      << "one copy, however small";
  constexpr PathSettings kAlwaysEngines = {.only = {},
                                           .copy_from_job_bytes = 1,
                                           .copy_from_batch_bytes = 1,
                                           .copy_from_bytes_a_copy = 1};
  EXPECT_EQ(choose_path(kAlwaysEngines, true, true, 1, 1, [] { return 1U; }), Path::copy);
}

TEST(PathChoice, AsksForTheCopiesOnlyWhereTheyDecide) {
  const auto asks = [](const PathSettings& settings, bool reaches, std::uint64_t job,
                       std::uint64_t batch) {
    bool asked = false;
    (void)choose_path(settings, reaches, true, job, batch, [&] {
      asked = true;
      return kMiB;
    });
    return asked;
  };
  EXPECT_TRUE(asks({}, true, kMiB, 16 * kMiB));
  EXPECT_FALSE(asks({}, false, kMiB, 16 * kMiB));
  EXPECT_FALSE(asks({}, true, 4 * kKiB, 16 * kMiB));
  EXPECT_FALSE(asks({}, true, kMiB, kMiB));
  EXPECT_FALSE(asks({.only = Path::copy}, true, kMiB, 16 * kMiB));
}

}  // namespace
}  // namespace overlap
