#pragma once

#include "daemon/engine/channel.hpp"

#include <cstdint>
#include <limits>
#include <vector>

namespace overlap {

/// Whose turn it is among channels of one priority: deficit round robin over expected device time.
///
/// In each round a channel is given its weight times a quantum of device time, and it is served while
/// some of it is left; what a job takes beyond is missing in the rounds that follow. A channel that
/// wants nothing saves one round up at most, and what it overdrew it works off. Rounds in which nobody could be
/// served are passed over in one step, so a job of any length costs a constant.
/// Restricted: the engine's thread.
class FairTurns {
 public:
  /// Device time of one round at weight 1: a batch of jobs, so that a producer is woken once for many
  /// of its jobs and not for the few that it has in everybody's batch.
  static constexpr std::int64_t kQuantumNs = 400'000;

  void join(Channel& channel) { channels_.push_back(&channel); }
  void leave(const Channel& channel) noexcept;

  [[nodiscard]] bool empty() const noexcept { return channels_.empty(); }

  /// The next channel that has a job which may go now and something left of its round, or null if no
  /// job may. A new round begins where all that have a job have used theirs up.
  /// @param may_go called as `may_go(Channel&, const Job&)` with a channel's next job
  template <class MayGo>
  [[nodiscard]] Channel* pick(std::uint64_t now_ns, MayGo may_go) {
    Channel* first = nullptr;
    bool others_are_owed = false;
    std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
    for (std::size_t i = 0; i < channels_.size(); ++i) {
      Channel& channel = *channels_[(turn_ + i) % channels_.size()];
      const Job* const job = channel.next(now_ns);
      if (job == nullptr) {
        continue;
      }
      if (!may_go(channel, *job)) {
        others_are_owed = others_are_owed || has_credit(channel);
        continue;
      }
      const std::int64_t missing = rounds_missing(channel);
      if (missing == 0) {
        return &channel;
      }
      if (missing < rounds) {
        rounds = missing;
        first = &channel;
      }
    }
    if (first == nullptr || others_are_owed) {
      return nullptr;
    }
    begin_rounds(rounds);
    return first;
  }
  /// As above where every job may go.
  [[nodiscard]] Channel* pick(std::uint64_t now_ns) {
    return pick(now_ns, [](Channel&, const Job&) { return true; });
  }
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
