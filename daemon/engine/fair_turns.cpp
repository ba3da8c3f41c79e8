#include "daemon/engine/fair_turns.hpp"

#include <algorithm>
#include <limits>

namespace overlap {
namespace {

std::int64_t round_credit_ns(const Channel& channel) noexcept {
  return FairTurns::kQuantumNs * channel.weight();
}

}  // namespace

std::int64_t FairTurns::rounds_missing(Channel& channel) noexcept {
  const std::int64_t overdrawn_ns = -channel.share().credit_ns;
  return overdrawn_ns < 0 ? 0 : overdrawn_ns / round_credit_ns(channel) + 1;
}

void FairTurns::leave(const Channel& channel) noexcept {
  const auto found = std::ranges::find(channels_, &channel);
  if (found == channels_.end()) {
    return;
  }
  const auto index = static_cast<std::size_t>(found - channels_.begin());
  channels_.erase(found);
  turn_ -= index < turn_ ? 1 : 0;
  turn_ = turn_ < channels_.size() ? turn_ : 0;
}

Channel* FairTurns::pick(std::uint64_t now_ns) {
  Channel* first = nullptr;
  std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    Channel& channel = *channels_[(turn_ + i) % channels_.size()];
    if (channel.next(now_ns) == nullptr) {
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
  if (first != nullptr) {
    begin_rounds(rounds);
  }
  return first;
}

void FairTurns::begin_rounds(std::int64_t count) noexcept {
  for (Channel* const channel : channels_) {
    std::int64_t& credit_ns = channel->share().credit_ns;
    const std::int64_t round_ns = round_credit_ns(*channel);
    // Nobody saves up: one round's worth at most for those who want something, nothing for the rest.
    const std::int64_t limit_ns = channel->queued_count() != 0 ? round_ns : 0;
    if (credit_ns < limit_ns) {
      credit_ns = std::min(limit_ns, credit_ns + count * round_ns);
    }
  }
}

void FairTurns::pass_on(const Channel& channel) noexcept {
  const auto found = std::ranges::find(channels_, &channel);
  if (found != channels_.end()) {
    turn_ = static_cast<std::size_t>(found - channels_.begin() + 1) % channels_.size();
  }
}

}  // namespace overlap
