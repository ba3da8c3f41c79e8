#pragma once

#include <cstdint>

namespace overlap {

/// Workspace that `link_channels` (channel_chain.cuh) needs, bytes per job.
inline constexpr std::uint64_t kChainedItemBytes = 112;

}  // namespace overlap
