#include "daemon/engine/fair_turns.hpp"

#include <algorithm>

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

void FairTurns::begin_rounds(std::int64_t count) noexcept {
  for (Channel* const channel : channels_) {
    std::int64_t& credit_ns = channel->share().credit_ns;
    const std::int64_t round_ns = round_credit_ns(*channel);
    // One round's worth at most: who wants nothing for a while has that when he comes back, no more.
    credit_ns = std::min(round_ns, credit_ns + count * round_ns);
  }
}

void FairTurns::pass_on(const Channel& channel) noexcept {
  const auto found = std::ranges::find(channels_, &channel);
  if (found != channels_.end()) {
    turn_ = static_cast<std::size_t>(found - channels_.begin() + 1) % channels_.size();
  }
}

}  // namespace overlap
