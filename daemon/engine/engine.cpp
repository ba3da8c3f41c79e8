#include "daemon/engine/engine.hpp"

#include <algorithm>
#include <span>
#include <stdexcept>
#include <utility>

namespace overlap {
namespace {

/// Submissions read from one channel before the next one has its turn.
constexpr std::uint32_t kTakeLimit = 256;

/// How much longer than expected a batch may be charged for: beyond, it was not the device.
constexpr double kMaxCostFactor = 64;

StreamPriority stream_priority(ChannelPriority priority) noexcept {
  switch (priority) {
    case ChannelPriority::high:
      return StreamPriority::high;
    case ChannelPriority::low:
      return StreamPriority::low;
    case ChannelPriority::normal:
      break;
  }
  return StreamPriority::normal;
}

JobEnd end_of(const Lane::Ended& ended, std::size_t stage_count, std::uint32_t job) noexcept {
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    const std::size_t row = ended.first_row + stage;
    switch (ended.table->status(row, job)) {
      case OVERLAP_ITEM_OK:
        break;
      case OVERLAP_ITEM_OUTPUT_TOO_SMALL:
        return {.status = JobStatus::output_too_small,
                .detail_value = detail_kib(ended.table->output_bytes(row, job))};
      default:
        return {.status = JobStatus::kernel_failed};
    }
  }
  return {.output_bytes = ended.output_bytes(job)};
}

}  // namespace

Lane* Engine::LaneGroup::oldest_lane() noexcept {
  Lane* oldest = nullptr;
  for (Lane& lane : lanes) {
    if (lane.in_flight_count() > 0 &&
        (oldest == nullptr ||
         lane.oldest_batch().issue_number < oldest->oldest_batch().issue_number)) {
      oldest = &lane;
    }
  }
  return oldest;
}

Lane* Engine::LaneGroup::free_lane() noexcept {
  Lane* best = nullptr;
  // The first of equals: where little is under way, few lanes grow large buffers.
  for (Lane& lane : lanes) {
    if (lane.has_free_buffer() &&
        (best == nullptr || lane.in_flight_count() < best->in_flight_count())) {
      best = &lane;
    }
  }
  return best;
}

Engine::Engine(Device& device, const EngineSettings& settings, EngineListener& listener,
               EngineLoad* load)
    : device_(device),
      settings_(settings),
      listener_(listener),
      load_(load),
      events_(std::make_shared<EventPool>(device)),
      uploads_(device, events_) {
  const DeviceProperties& properties = device.properties();
  // Streams cannot overlap copies where there are none.
  lane_settings_.kind = properties.works_in_place ? LaneKind::single : settings.lane_kind;
  lane_settings_.depth = settings.depth != 0 ? settings.depth : properties.default_depth;
  lane_settings_.max_batch_jobs = settings.max_batch_jobs;
  lane_settings_.initial_buffer_bytes = settings.max_batch_bytes;
  lane_count_ = settings.lane_count != 0 ? settings.lane_count : properties.default_lane_count;
  make_lanes(ChannelPriority::normal);
  forming_.jobs.reserve(settings.max_batch_jobs);
}

void Engine::make_lanes(ChannelPriority priority) {
  LaneSettings lane = lane_settings_;
  lane.priority = stream_priority(priority);
  std::vector<Lane> lanes;
  lanes.reserve(lane_count_);
  for (std::uint32_t i = 0; i < lane_count_; ++i) {
    lanes.emplace_back(device_, lane);
  }
  group_of(priority).lanes = std::move(lanes);
}

std::size_t Engine::do_work(std::uint64_t now_ns) {
  if (lost_) {
    return 0;
  }
  std::size_t done = harvest(now_ns);
  // A job that is issued to a lost device would be taken for one that may have killed it.
  if (!lost_) {
    const std::size_t taken = take(now_ns);
    if (taken != 0 && load_ != nullptr) {
      // Before the device is called: whoever holds the driver's lock meanwhile has to know that
      // somebody waits for it.
      load_->last_issue_ns.store(now_ns, std::memory_order_relaxed);
    }
    const std::size_t issued = issue(now_ns);
    done += taken + issued;
    if (done != 0) {
      publish_load(now_ns, issued != 0);
    }
  }
  publish();
  if (leaving_count_ != 0 || draining_) {
    sweep();
  }
  return done;
}

void Engine::publish_load(std::uint64_t now_ns, bool issued) noexcept {
  if (load_ == nullptr) {
    return;
  }
  load_->batches_in_flight.store(batches_in_flight_, std::memory_order_relaxed);
  std::uint64_t longest_ns = 0;
  for (LaneGroup& group : lane_groups_) {
    if (Lane* const oldest = group.oldest_lane()) {
      longest_ns = std::max(longest_ns, oldest->oldest_batch().cost_ns);
    }
  }
  load_->longest_batch_ns.store(longest_ns, std::memory_order_relaxed);
  if (issued) {
    load_->last_issue_ns.store(now_ns, std::memory_order_relaxed);
  }
}

void Engine::wind_down(std::uint64_t now_ns) {
  harvest(now_ns);
  publish();
}

void Engine::add(std::unique_ptr<Channel> channel, std::uint64_t now_ns) {
  channel->stay_awake();
  channel->join(pipelines_, device_, uploads_);
  if (channel->came_with_tables() && !channel->brings_first_tables()) {
    // There was no memory for them: every job that needs one will say so.
    listener_.on_tables_copied(channel->id());
  }
  if (group_of(channel->priority()).lanes.empty()) {
    try {
      make_lanes(channel->priority());
    } catch (const std::runtime_error&) {
      // Served in its turn all the same, on the lanes of the others.
    }
  }
  turns_of(*channel).join(*channel);
  channels_.push_back({.channel = std::move(channel), .active_ns = now_ns});
}

void Engine::remove(ChannelId channel) {
  for (auto* members : {&channels_, &parked_}) {
    for (Member& member : *members) {
      if (member.channel->id() == channel && !member.leaving) {
        member.leaving = true;
        member.channel->close();
        ++leaving_count_;
      }
    }
  }
}

void Engine::drain() { draining_ = true; }

void Engine::park(std::uint64_t quiet_since_ns) {
  const auto first_parked =
      std::partition(channels_.begin(), channels_.end(), [&](const Member& member) {
        Channel& channel = *member.channel;
        if (!member.is_served() || member.active_ns > quiet_since_ns ||
            channel.queued_count() != 0 || channel.issued_count() != 0 || channel.is_full() ||
            uploads_.reads(channel)) {
          return true;
        }
        const bool busy = channel.fall_asleep();
        if (busy) {
          channel.stay_awake();
        }
        return busy;
      });
  for (auto member = first_parked; member != channels_.end(); ++member) {
    turns_of(*member->channel).leave(*member->channel);
    listener_.on_parked(member->channel->id(), member->channel->doorbell());
    parked_.push_back(std::move(*member));
  }
  channels_.erase(first_parked, channels_.end());
}

void Engine::unpark(ChannelId channel, std::uint64_t now_ns) {
  const auto found = std::find_if(parked_.begin(), parked_.end(), [&](const Member& member) {
    return member.channel->id() == channel;
  });
  // A doorbell is readable for ever once it has rung: watching it anew reports it once too often.
  if (found == parked_.end() || !found->is_served() || !found->channel->has_submissions()) {
    return;
  }
  listener_.on_unparked(channel, found->channel->doorbell());
  found->channel->stay_awake();
  found->active_ns = now_ns;
  turns_of(*found->channel).join(*found->channel);
  channels_.push_back(std::move(*found));
  parked_.erase(found);
}

bool Engine::fall_asleep() {
  bool nothing = true;
  if (!draining_) {
    for (Member& member : channels_) {
      nothing = !(member.is_served() && member.channel->fall_asleep()) && nothing;
    }
  }
  if (!nothing) {
    stay_awake();
  }
  return nothing;
}

bool Engine::has_full_channels() const noexcept {
  return std::ranges::any_of(channels_, [](const Member& member) {
    return member.is_served() && member.channel->is_full() && member.channel->has_submissions();
  });
}

void Engine::stay_awake() {
  for (Member& member : channels_) {
    member.channel->stay_awake();
  }
}

std::size_t Engine::take(std::uint64_t now_ns) {
  if (draining_) {
    return 0;
  }
  std::size_t taken = 0;
  for (Member& member : channels_) {
    if (!member.is_served()) {
      continue;
    }
    const std::uint32_t count = member.channel->take(kTakeLimit, now_ns);
    if (count != 0) {
      member.active_ns = now_ns;
      taken += count;
    }
    if (member.channel->violation()) {
      member.reported = true;
      member.channel->close();
      listener_.on_violation(member.channel->id(), *member.channel->violation());
    }
  }
  return taken;
}

std::size_t Engine::harvest(std::uint64_t now_ns) {
  std::size_t harvested = 0;
  for (LaneGroup& group : lane_groups_) {
    if (group.in_flight == 0) {
      continue;
    }
    // The one that is due first: where it is over, asking the others as well would cost more than
    // it finds.
    std::size_t found = 0;
    for (Lane* due = group.oldest_lane(); due != nullptr && !lost_; due = group.oldest_lane()) {
      const std::size_t ended = harvest_lane(group, *due, now_ns);
      found += ended;
      if (ended == 0) {
        break;
      }
    }
    for (auto lane = group.lanes.begin(); found == 0 && !lost_ && lane != group.lanes.end();
         ++lane) {
      found = harvest_lane(group, *lane, now_ns);
    }
    harvested += found;
  }
  settle_costs(now_ns);
  return harvested + (uploads_.empty() ? 0 : harvest_uploads(now_ns));
}

std::size_t Engine::harvest_uploads(std::uint64_t now_ns) {
  const std::size_t count =
      uploads_.harvest([&](Channel& channel, const TableUploads::Purpose& purpose) {
        channel.on_uploaded(purpose, now_ns);
        if (purpose.kind == TableUploads::Purpose::Kind::attach && !channel.brings_first_tables()) {
          listener_.on_tables_copied(channel.id());
        }
      });
  if (uploads_.lost_code() && !lost_) {
    lose(*uploads_.lost_code());
  }
  return count;
}

std::size_t Engine::harvest_lane(LaneGroup& group, Lane& lane, std::uint64_t now_ns) {
  std::size_t harvested = 0;
  while (true) {
    // Jobs of a stateful pipeline end in their order, whatever the lanes.
    if (lane.in_flight_count() == 0 ||
        (lane.oldest_batch().order != 0 &&
         lane.oldest_batch().order != lane.oldest_batch().pipeline->next_ended)) {
      return harvested;
    }
    const auto ended = lane.harvest();
    if (!ended) {
      return harvested;
    }
    if (ended->status.outcome == DeviceOutcome::lost) {
      lose(ended->status.code);
      return harvested;
    }
    group.in_flight_ns -= ended->batch->cost_ns;
    --group.in_flight;
    --batches_in_flight_;
    long_kernels_in_flight_ -= ended->batch->long_kernel ? 1 : 0;
    isolated_in_flight_ = isolated_in_flight_ && !ended->batch->isolate;
    if (ended->batch->order != 0) {
      ++ended->batch->pipeline->next_ended;
    }
    if (ended->status.ok()) {
      note_cost(*ended->batch);
      finish(*ended, now_ns);
    } else if (ended->batch->order != 0) {
      fail_stateful(*ended->batch, ended->status.code, now_ns);
    } else {
      retry_or_fail(*ended, now_ns);
    }
    lane.retire();
    ++harvested;
  }
}

void Engine::note_cost(const Batch& batch) {
  for (const BatchRun& run : batch.runs) {
    const std::uint64_t cost_ns = std::uint64_t{run.count} * batch.jobs[run.first_index]->cost_ns;
    ended_shares_.push_back({run.channel, cost_ns});
    // By size: where sizes are mixed, nothing is known of jobs of their average.
    ended_costs_.push_back({batch.pipeline, run.plan->input_bytes,
                            run.count * run.plan->input_bytes, cost_ns, batch.issued_ns});
  }
}

void Engine::settle_costs(std::uint64_t now_ns) {
  if (ended_costs_.empty()) {
    return;
  }
  std::uint64_t first_issued_ns = now_ns;
  double expected_ns = 0;
  for (const EndedCost& ended : ended_costs_) {
    first_issued_ns = std::min(first_issued_ns, ended.issued_ns);
    expected_ns += static_cast<double>(ended.cost_ns);
  }
  // Busy since it was given something, or since it ended what came before. Which of several batches
  // took how much of that is not seen: each has its expected share.
  const auto busy_ns = static_cast<double>(now_ns - std::max(first_issued_ns, last_end_ns_));
  const double factor = std::min(busy_ns / expected_ns, kMaxCostFactor);
  for (const EndedCost& ended : ended_costs_) {
    ended.pipeline->cost().learn(ended.job_bytes, ended.input_bytes,
                                 static_cast<double>(ended.cost_ns) * busy_ns / expected_ns);
  }
  for (const EndedShare& share : ended_shares_) {
    FairTurns::charge(*share.channel,
                      static_cast<std::int64_t>((factor - 1) * static_cast<double>(share.cost_ns)));
  }
  last_end_ns_ = now_ns;
  ended_costs_.clear();
  ended_shares_.clear();
}

void Engine::finish(const Lane::Ended& ended, std::uint64_t now_ns) {
  const Batch& batch = *ended.batch;
  const bool all_ok = ended.table->all_ok() && !batch.pipeline->finds_sizes() && batch.order == 0;
  const std::size_t stage_count = batch.pipeline->stages().size();
  for (const BatchRun& run : batch.runs) {
    if (all_ok) {
      run.channel->finish_run(batch.jobs_of(run), now_ns);
      continue;
    }
    for (std::uint32_t i = run.first_index; i < run.first_index + run.count; ++i) {
      run.channel->finish(*batch.jobs[i], end_of(ended, stage_count, i), now_ns);
    }
  }
}

void Engine::fail_stateful(const Batch& batch, int code, std::uint64_t now_ns) {
  const JobEnd failed{.status = JobStatus::kernel_failed,
                      .detail_code = static_cast<std::uint32_t>(code)};
  // Not once more: the state may have taken half of the batch in.
  for (const BatchRun& run : batch.runs) {
    for (Job* const job : batch.jobs_of(run)) {
      run.channel->finish(*job, failed, now_ns);
      // After it: a job that began with a fresh state has spoilt it all the same.
      run.channel->spoil_history(job->pipeline_index);
    }
  }
}

void Engine::retry_or_fail(const Lane::Ended& ended, std::uint64_t now_ns) {
  // In reverse, so that the jobs stand in front of the queue in their order in the batch.
  for (auto run = ended.batch->runs.rbegin(); run != ended.batch->runs.rend(); ++run) {
    const std::span<Job* const> jobs = ended.batch->jobs_of(*run);
    for (auto entry = jobs.rbegin(); entry != jobs.rend(); ++entry) {
      Job& job = **entry;
      if (job.retried) {
        run->channel->finish(job,
                             {.status = JobStatus::kernel_failed,
                              .detail_code = static_cast<std::uint32_t>(ended.status.code)},
                             now_ns);
      } else {
        FairTurns::charge(*run->channel, -std::int64_t{job.cost_ns});
        job.retried = true;
        run->channel->requeue(job);
        EngineCounters::add(counters_.jobs_retried, 1);
      }
    }
  }
}

void Engine::publish() {
  for (Member& member : channels_) {
    if (member.channel->publish()) {
      const ChannelCounters counted = member.channel->drain_counters();
      EngineCounters::add(counters_.jobs_done, counted.jobs_done);
      EngineCounters::add(counters_.jobs_failed, counted.jobs_failed);
      EngineCounters::add(counters_.input_bytes, counted.input_bytes);
      EngineCounters::add(counters_.output_bytes, counted.output_bytes);
      EngineCounters::add(counters_.producer_wakes, counted.wakes);
    }
  }
}

void Engine::sweep() {
  for (auto* members : {&channels_, &parked_}) {
    std::erase_if(*members, [&](const Member& member) {
      if (!member.leaving || member.channel->issued_count() != 0 ||
          uploads_.reads(*member.channel)) {
        return false;
      }
      turns_of(*member.channel).leave(*member.channel);
      listener_.on_removed(member.channel->id());
      --leaving_count_;
      return true;
    });
  }
  const bool idle = std::all_of(channels_.begin(), channels_.end(), [](const Member& member) {
    return member.channel->queued_count() == 0 && member.channel->issued_count() == 0 &&
           member.channel->update_count() == 0;
  });
  if (draining_ && idle && !drained_reported_) {
    drained_reported_ = true;
    listener_.on_drained();
  }
}

void Engine::lose(int code) {
  lost_ = true;
  listener_.on_device_lost(code);
}

}  // namespace overlap
