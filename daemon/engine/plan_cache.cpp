#include "daemon/engine/plan_cache.hpp"

#include <algorithm>

namespace overlap {
namespace {

constexpr std::size_t kKeptPlans = 64;

}  // namespace

PlanCache::Entry& PlanCache::acquire(const Pipeline& pipeline, std::uint64_t input_bytes) {
  if (last_ != nullptr && last_->input_bytes == input_bytes) {
    ++last_->users;
    return *last_;
  }
  auto found = std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) {
    return entry.input_bytes == input_bytes;
  });
  if (found == entries_.end()) {
    const auto unused = entries_.size() < kKeptPlans
                            ? entries_.end()
                            : std::find_if(entries_.begin(), entries_.end(),
                                           [](const Entry& entry) { return entry.users == 0; });
    found = unused != entries_.end() ? unused : entries_.insert(entries_.end(), Entry{});
    *found = Entry{};
    found->input_bytes = input_bytes;
    auto planned = pipeline.plan(input_bytes);
    if (auto* refusal = std::get_if<Refusal>(&planned)) {
      found->refusal = std::move(refusal->text);
    } else {
      found->plan = std::move(std::get<PipelinePlan>(planned));
    }
  }
  last_ = &*found;
  ++last_->users;
  return *last_;
}

}  // namespace overlap
