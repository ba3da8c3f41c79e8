#include "daemon/engine/served_pipeline.hpp"

#include <algorithm>
#include <cstring>

namespace overlap {
namespace {

/// Bit for bit, so that -0 and 0, or two NaNs, are told apart.
bool same_parameters(const ParameterValues& a, const ParameterValues& b) noexcept {
  return a.size() == b.size() &&
         (a.empty() || std::memcmp(a.data(), b.data(), a.size() * sizeof a.front()) == 0);
}

bool do_the_same(const ServedPipeline& a, const ServedPipeline& b) noexcept {
  return std::ranges::equal(a.stages(), b.stages(), [](const Stage& x, const Stage& y) {
    return x.kernel == y.kernel && same_parameters(x.params, y.params);
  });
}

}  // namespace

ServedPipeline::ServedPipeline(Pipeline pipeline)
    : pipeline_(std::move(pipeline)),
      first_unsized_stage_(pipeline_.stages().size()),
      per_job_(per_job_parameters(*pipeline_.stages().front().kernel)) {
  for (std::size_t i = pipeline_.stages().size(); i-- > 0;) {
    const Stage& stage = pipeline_.stages()[i];
    takes_tables_ = takes_tables_ || stage.kernel->table_bytes(stage.params) != 0;
    const PlanOrRefusal planned =
        stage.kernel->plan(stage.params, stage.kernel->granule_bytes(stage.params));
    // Parsing has tried this very size.
    if (const auto* const plan = std::get_if<Plan>(&planned)) {
      stateful_ = stateful_ || plan->state_bytes != 0;
      first_unsized_stage_ = plan->output_size == OutputSize::known ? first_unsized_stage_ : i;
    }
  }
}

std::shared_ptr<ServedPipeline> PipelineTable::share(std::shared_ptr<ServedPipeline> offered,
                                                     ChannelPriority priority) {
  std::erase_if(served_, [](const Entry& entry) { return entry.pipeline.expired(); });
  for (const Entry& entry : served_) {
    auto served = entry.pipeline.lock();
    if ((!offered->is_stateful() || entry.priority == priority) && do_the_same(*served, *offered)) {
      return served;
    }
  }
  served_.push_back({offered, priority});
  return offered;
}

}  // namespace overlap
