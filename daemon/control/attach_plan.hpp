#pragma once

#include "daemon/control/channel_share.hpp"
#include "kernels/kernel_registry.hpp"
#include "kernels/pipeline.hpp"
#include "shared/channel_geometry.hpp"
#include "shared/control_protocol.hpp"

#include <string>
#include <variant>
#include <vector>

namespace overlap {

/// A channel that can be made.
struct AttachPlan {
  Negotiated negotiated;
  ChannelGeometry geometry;
  std::vector<Pipeline> pipelines;
  ChannelShare share;
  std::vector<TableEntry> tables{};
  /// A bit for each pipeline whose jobs depend on the ones before them.
  std::uint32_t stateful_pipelines = 0;
  /// What the daemon keeps for the channel beside its memory, on the device: states and tables, bytes.
  std::uint64_t kept_bytes = 0;
  /// An earlier channel's history is gone.
  bool history_lost = false;
};

/// Why not, for the producer to read.
struct AttachRefusal {
  AttachCode code;
  std::string text;
};

/// Holds a request against this build, the kernels and the limits; touches nothing.
/// @param needs_cuda whether every kernel must be able to run on a GPU; else, on the host
[[nodiscard]] std::variant<AttachPlan, AttachRefusal> plan_attach(const AttachRequest& request,
                                                                  const KernelRegistry& kernels,
                                                                  const GeometryLimits& limits,
                                                                  bool needs_cuda,
                                                                  const ShareLimits& shares = {});

}  // namespace overlap
