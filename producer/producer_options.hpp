#pragma once

#include "producer/channel_tables.hpp"
#include "shared/channel_priority.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace overlap {

/// What becomes of the jobs of a stateful pipeline that have no result when the daemon goes, and its
/// state with it.
enum class StateLossAction : std::uint8_t {
  /// They end as `state_lost`: what they would have given depends on what is lost.
  end_jobs,
  /// They are submitted again, to a pipeline that begins anew.
  restart,
};

/// What a producer asks the daemon for, and how it waits.
struct ProducerOptions {
  /// Empty: `$OVERLAPD_SOCKET`, `$XDG_RUNTIME_DIR/overlapd.sock` if it exists, else
  /// `/run/overlapd/overlapd.sock`.
  std::optional<std::string> socket_path{};
  /// At least one, for example `scale:a=2,b=1`; a job names one by its index.
  std::vector<std::string> pipelines{};
  std::uint32_t slot_count = 8;
  /// Input area of one slot, bytes.
  std::uint64_t input_bytes = 0;
  /// Output area of one slot, bytes; 0: the most that the pipelines make of a full input area.
  std::uint64_t output_bytes = 0;
  /// What the kernels' tables hold at first: one for every stage that needs one. Their room in the
  /// channel is worked out here.
  std::vector<TableContent> tables{};
  /// Bound of every single step of attaching.
  std::chrono::milliseconds attach_timeout{5000};
  /// Whether to carry on with the next daemon after this one has gone.
  bool resume = true;
  /// Either way the first result of every stateful pipeline after that is a `discontinuity`.
  StateLossAction on_state_loss = StateLossAction::end_jobs;
  /// How long nobody may answer before the remaining jobs end in `DaemonGone`.
  std::chrono::milliseconds resume_timeout{30000};
  /// How long a waiting thread polls before it sleeps. Empty: 20 us, or 0 where there are at most
  /// two hardware threads, because polling would then take the daemon's.
  std::optional<std::chrono::nanoseconds> spin{};
  /// Whose jobs go first wherever both wait. The daemon may allow no more than it likes.
  ChannelPriority priority = ChannelPriority::normal;
  /// Share of device time among the producers of the same priority: one of weight 3 gets three times
  /// what one of weight 1 gets while both have work. 1 to 64, or what the daemon allows.
  std::uint32_t weight = kDefaultChannelWeight;
};

}  // namespace overlap
