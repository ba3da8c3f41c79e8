#pragma once

namespace overlap {

/// Makes the calling thread's new pages come from a node, as long as it has any. Nothing happens for
/// a negative node, on a machine with one node, or where the kernel has no memory policies.
///
/// Pages that the device will copy from must lie next to it before they are pinned: pinned pages
/// cannot move (12.2 against 3.8 GB/s was measured across the link of two sockets,
/// github.com/mpicbg-scicomp/gearshifft/pull/82).
void prefer_numa_node(int node) noexcept;

}  // namespace overlap
