#pragma once

#include "kernels/kernel_registry.hpp"

#include <cstdint>

namespace overlap::testing {

/// A number that makes `running_sum` fail its job and forget its sum.
inline constexpr std::uint64_t kUnlucky = 13;
inline constexpr std::uint64_t kTableBytes = 256;

/// `scripted_registry` and kernels over one number (u64) a job that keep something or take something:
/// `running_sum` adds what came before in the channel; `every_second` lets every second job through;
/// `plus_table` adds the first number of its table; `plus` adds its parameters `a` and `b`, of which a
/// job may bring `a`; `up_to` makes as many bytes as its input's number says, at most 8; `keeps_less_of_more` keeps 8 bytes
/// of 64 and more, and 1 KiB of less; `leaves_out` comes from elsewhere, and fails jobs in silence.
[[nodiscard]] const KernelRegistry& keeping_registry();

}  // namespace overlap::testing
