#pragma once

#include <cstddef>
#include <cstdint>

namespace overlap {

/// The most bytes that one job may bring, make, or need as workspace or state. Batches have at most
/// 65536 jobs, so that sums over one stay within 2^62 and cannot overflow.
inline constexpr std::uint64_t kMostJobBytes = std::uint64_t{1} << 46U;

// What a kernel may declare, be it in a plug-in or in a source file (`overlap_kernel.h` says the
// same): the daemon has to send each in a message of limited size.

inline constexpr std::size_t kMostParameters = 16;
/// Of which a job may bring its own value.
inline constexpr std::size_t kMostPerJobParameters = 3;
inline constexpr std::size_t kMostChoices = 64;
/// Of a name, a choice or a unit.
inline constexpr std::size_t kMostNameBytes = 31;
/// Of a summary or a help.
inline constexpr std::size_t kMostLineBytes = 200;
/// Of all texts together, with a zero byte behind each.
inline constexpr std::size_t kMostKernelTextBytes = 4000;

}  // namespace overlap
