#pragma once

#include "daemon/engine/channel.hpp"

#include <cstdint>
#include <vector>

namespace overlap {

/// Whose turn it is among channels of one priority: deficit round robin over expected device time.
///
/// In each round a channel is given its weight times a quantum of device time, and it is served while
/// some of it is left; what a job takes beyond is missing in the rounds that follow. A channel that
/// wants nothing saves nothing up, but what it overdrew it works off. Rounds in which nobody could be
/// served are passed over in one step, so a job of any length costs a constant.
/// Restricted: the engine's thread.
class FairTurns {
 public:
  /// Device time of one round at weight 1: a few large jobs or a batch of small ones.
  static constexpr std::int64_t kQuantumNs = 100'000;

  // In no particular order. Thread and order of joining do not matter.
  void join(Channel& channel) { channels_.push_back(&channel); }
  void leave(const Channel& channel) noexcept;

  [[nodiscard]] bool empty() const noexcept { return channels_.empty(); }

  /// The next channel that has a job and something left of its round, or null if none has a job.
  /// A new round begins where all that have a job have used theirs up.
  [[nodiscard]] Channel* pick(std::uint64_t now_ns);
  /// The turn has passed on from `channel`.
  void pass_on(const Channel& channel) noexcept;

  /// Channels in the order of their turns, from the one whose turn it is.
  template <class Visitor>
  void for_each(Visitor visit) {
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      visit(*channels_[(turn_ + i) % channels_.size()]);
    }
  }

  [[nodiscard]] static bool has_credit(Channel& channel) noexcept {
    return channel.share().credit_ns > 0;
  }
  static void charge(Channel& channel, std::int64_t cost_ns) noexcept {
    channel.share().credit_ns -= cost_ns;
  }
  /// Rounds until the channel has something left again; 0 if it has.
  [[nodiscard]] static std::int64_t rounds_missing(Channel& channel) noexcept;
  void begin_rounds(std::int64_t count) noexcept;

 private:
  std::vector<Channel*> channels_;
  std::size_t turn_ = 0;
};

}  // namespace overlap
