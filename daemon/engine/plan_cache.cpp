#include "daemon/engine/plan_cache.hpp"

#include <algorithm>
#include <utility>

namespace overlap {

PlanCache::Entry& PlanCache::acquire(const Pipeline& pipeline, std::uint64_t input_bytes) {
  if (last_ == nullptr || last_->input_bytes != input_bytes) {
    last_ = &find_or_plan(pipeline, input_bytes);
  }
  ++last_->users;
  return *last_;
}

PlanCache::Entry& PlanCache::find_or_plan(const Pipeline& pipeline, std::uint64_t input_bytes) {
  const auto found = entries_.find(input_bytes);
  if (found != entries_.end()) {
    return found->second;
  }
  if (entries_.size() >= limit_) {
    drop_unused();
  }
  Entry& entry = entries_[input_bytes];
  entry.input_bytes = input_bytes;
  auto planned = pipeline.plan(input_bytes);
  if (auto* refusal = std::get_if<Refusal>(&planned)) {
    entry.refusal = std::move(refusal->text);
  } else {
    entry.plan = std::move(std::get<PipelinePlan>(planned));
  }
  entry.batch_bytes = input_bytes;
  for (const Plan& stage : entry.plan.stages) {
    entry.batch_bytes = std::max({entry.batch_bytes, stage.max_output_bytes / kMaxGrowth,
                                  stage.workspace_bytes / kMaxGrowth});
  }
  return entry;
}

void PlanCache::drop_unused() {
  last_ = nullptr;
  std::erase_if(entries_, [](const auto& entry) { return entry.second.users == 0; });
  // Twice what is in use, so that the search for unused ones costs a constant per new plan.
  limit_ = std::max(kKeptPlans, 2 * entries_.size());
}

}  // namespace overlap
