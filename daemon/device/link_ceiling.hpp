#pragma once

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

namespace overlap {

/// What the link between host and device carries, in GB/s (10^9 bytes a second).
struct LinkCeiling {
  double host_to_device = 0;
  double device_to_host = 0;
  /// Each way while both ways run, at the same number of bytes each way.
  double each_way_of_both = 0;
};

/// A ceiling, or why it cannot be measured.
struct LinkProbe {
  std::optional<LinkCeiling> ceiling;
  /// A sentence; empty with a ceiling.
  std::string why_not;
};

/// Measures copies between pinned shared memory (a registered memfd, as channels have it) and the
/// device, on several streams, with nothing else running. Takes three times `per_figure`, and the
/// time to pin.
/// @param bytes_per_copy 1 B to 256 MiB
/// @param per_figure how long each of the three figures is measured; from 100 ms it is steady
/// @param index the GPU, counted among the visible ones
/// @pre the calling thread's memory policy prefers the GPU's NUMA node, or there is one node
/// Thread safety: any; two at once measure each other.
[[nodiscard]] LinkProbe measure_link(std::uint64_t bytes_per_copy,
                                     std::chrono::milliseconds per_figure, int index = 0);

}  // namespace overlap
