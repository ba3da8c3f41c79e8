#pragma once

#include "daemon/engine/cost_model.hpp"
#include "daemon/engine/event_pool.hpp"
#include "daemon/engine/job_parameters.hpp"
#include "daemon/engine/plan_cache.hpp"
#include "kernels/pipeline.hpp"
#include "shared/channel_priority.hpp"

#include <algorithm>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

namespace overlap {

/// A pipeline with what the engine learns of it: plans by size, time on the device. One for all
/// channels of an engine that ask for the same kernels with the same parameters, so that their jobs
/// can share batches. Restricted: the engine's thread.
class ServedPipeline {
 public:
  explicit ServedPipeline(Pipeline pipeline);

  [[nodiscard]] const Pipeline& pipeline() const noexcept { return pipeline_; }
  [[nodiscard]] const std::vector<Stage>& stages() const noexcept { return pipeline_.stages(); }
  /// Whether jobs of a channel depend on the ones before them: batches run one after the other.
  [[nodiscard]] bool is_stateful() const noexcept { return stateful_; }
  /// Whether a stage reads a table of the channel's.
  [[nodiscard]] bool takes_tables() const noexcept { return takes_tables_; }
  /// The first stage that finds out how much it makes as it runs; as many as there are stages if none
  /// does.
  [[nodiscard]] std::size_t first_unsized_stage() const noexcept { return first_unsized_stage_; }
  [[nodiscard]] bool finds_sizes() const noexcept { return first_unsized_stage_ < stages().size(); }
  /// Whether a stage may end a job without writing what it was planned to: no kernel of ours does.
  [[nodiscard]] bool may_leave_out(std::size_t stage) const noexcept {
    return stages()[stage].kernel->origin() != Kernel::kBuiltIn;
  }
  /// Parameters of the first stage that a job may bring.
  [[nodiscard]] std::span<const std::size_t> per_job() const noexcept { return per_job_; }
  /// Of a stateful pipeline, in every batch of it: waited for before the kernels, recorded behind.
  [[nodiscard]] EventPool::Lease& order_event() noexcept { return order_event_; }
  /// The number of the next batch to start, and to end, of a stateful pipeline.
  std::uint64_t next_started = 1;
  std::uint64_t next_ended = 1;

  [[nodiscard]] PlanCache::Entry& acquire_plan(std::uint64_t input_bytes) {
    return plans_.acquire(pipeline_, input_bytes);
  }
  /// What a job of this plan is expected to take on the device, ns; at most what fits.
  [[nodiscard]] std::uint32_t cost_ns(PlanCache::Entry& plan) const noexcept {
    if (plan.cost_version != cost_.version()) {
      plan.cost_version = cost_.version();
      plan.cost_ns = static_cast<std::uint32_t>(
          std::min<std::uint64_t>(cost_.estimate_ns(plan.input_bytes), UINT32_MAX));
    }
    return plan.cost_ns;
  }
  [[nodiscard]] CostModel& cost() noexcept { return cost_; }
  [[nodiscard]] const CostModel& cost() const noexcept { return cost_; }

 private:
  Pipeline pipeline_;
  bool stateful_ = false;
  bool takes_tables_ = false;
  std::size_t first_unsized_stage_;
  std::vector<std::size_t> per_job_;
  EventPool::Lease order_event_;
  PlanCache plans_;
  CostModel cost_;
};

/// The pipelines that channels have now. Restricted: the engine's thread.
class PipelineTable {
 public:
  /// Stateful ones are shared within a priority alone: their kernels run one after the other, and
  /// nobody waits for a lower priority's.
  /// @return the one that is served already and does the same, or `offered`, which is from now on
  [[nodiscard]] std::shared_ptr<ServedPipeline> share(
      std::shared_ptr<ServedPipeline> offered, ChannelPriority priority = ChannelPriority::normal);

 private:
  struct Entry {
    std::weak_ptr<ServedPipeline> pipeline;
    ChannelPriority priority;
  };
  /// Those of channels that have gone are dropped when the next one comes.
  std::vector<Entry> served_;
};

}  // namespace overlap
