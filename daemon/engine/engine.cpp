#include "daemon/engine/engine.hpp"

#include <algorithm>

namespace overlap {
namespace {

/// Submissions read from one channel before the next one has its turn.
constexpr std::uint32_t kTakeLimit = 256;

/// One writer: a plain add that other threads can read.
void add_to(std::atomic<std::uint64_t>& counter, std::uint64_t value) noexcept {
  counter.store(counter.load(std::memory_order_relaxed) + value, std::memory_order_relaxed);
}

JobEnd end_of(const Lane::Ended& ended, std::size_t stage_count, std::uint32_t job) noexcept {
  for (std::size_t stage = 0; stage < stage_count; ++stage) {
    switch (ended.table->status(stage, job)) {
      case OVERLAP_ITEM_OK:
        break;
      case OVERLAP_ITEM_OUTPUT_TOO_SMALL:
        return {.status = JobStatus::output_too_small,
                .detail_value = detail_kib(ended.table->output_bytes(stage, job))};
      default:
        return {.status = JobStatus::kernel_failed};
    }
  }
  // Sizes follow from the input's: pipelines that find them out are refused at attach.
  return {.output_bytes = ended.table->item(stage_count - 1, job).output_capacity_bytes};
}

}  // namespace

Engine::Engine(Device& device, const EngineSettings& settings, EngineListener& listener,
               EngineLoad* load)
    : settings_(settings), listener_(listener), load_(load) {
  const DeviceProperties& properties = device.properties();
  LaneSettings lane;
  // Streams cannot overlap copies where there are none.
  lane.kind = properties.works_in_place ? LaneKind::single : settings.lane_kind;
  lane.depth = settings.depth != 0 ? settings.depth : properties.default_depth;
  lane.max_batch_jobs = settings.max_batch_jobs;
  lane.initial_buffer_bytes = settings.max_batch_bytes;
  const std::uint32_t lanes =
      settings.lane_count != 0 ? settings.lane_count : properties.default_lane_count;
  lanes_.reserve(lanes);
  for (std::uint32_t i = 0; i < lanes; ++i) {
    lanes_.emplace_back(device, lane);
  }
  forming_.jobs.reserve(settings.max_batch_jobs);
}

std::size_t Engine::do_work(std::uint64_t now_ns) {
  if (lost_) {
    return 0;
  }
  std::size_t done = harvest(now_ns);
  // A job that is issued to a lost device would be taken for one that may have killed it.
  if (!lost_) {
    done += take(now_ns);
    const std::size_t issued = issue(now_ns);
    done += issued;
    publish_load(now_ns, issued != 0);
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
            channel.queued_count() != 0 || channel.issued_count() != 0) {
          return true;
        }
        const bool busy = channel.fall_asleep();
        if (busy) {
          channel.stay_awake();
        }
        return busy;
      });
  for (auto member = first_parked; member != channels_.end(); ++member) {
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

Lane* Engine::free_lane() noexcept {
  Lane* best = nullptr;
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    Lane& lane = lanes_[(next_lane_ + i) % lanes_.size()];
    if (lane.has_free_buffer() &&
        (best == nullptr || lane.in_flight_count() < best->in_flight_count())) {
      best = &lane;
    }
  }
  return best;
}

std::size_t Engine::issue(std::uint64_t now_ns) {
  std::size_t issued = 0;
  while (!isolated_in_flight_) {
    Lane* lane = free_lane();
    if (lane == nullptr || !form(now_ns)) {
      break;
    }
    isolated_in_flight_ = forming_.isolate;
    lane->issue(forming_);
    next_lane_ = static_cast<std::size_t>(lane - lanes_.data() + 1) % lanes_.size();
    ++batches_in_flight_;
    add_to(counters_.batches, 1);
    ++issued;
    if (const auto code = lane->lost_code()) {
      // Now, not at the next harvest: jobs issued from here on would be marked as suspects.
      lose(*code);
      break;
    }
  }
  return issued;
}

bool Engine::form(std::uint64_t now_ns) {
  forming_.clear();
  for (std::size_t i = 0; i < channels_.size(); ++i) {
    const std::size_t index = (next_channel_ + i) % channels_.size();
    Member& member = channels_[index];
    const Job* first = member.channel->next(now_ns);
    if (first == nullptr) {
      continue;
    }
    if (first->isolate && batches_in_flight_ != 0) {
      // Nothing new goes out until the device is empty, or the isolated job would wait for ever.
      next_channel_ = index;
      return false;
    }
    fill_from(*member.channel, *first, now_ns);
    next_channel_ = index + 1;
    return true;
  }
  return false;
}

void Engine::fill_from(Channel& channel, const Job& first, std::uint64_t now_ns) {
  const std::uint8_t pipeline_index = first.pipeline_index;
  const bool alone = first.isolate || first.retried;
  forming_.pipeline = &channel.pipeline(pipeline_index);
  forming_.isolate = first.isolate;
  const Job* job = &first;
  do {
    forming_.input_bytes += job->input_bytes;
    forming_.jobs.push_back({&channel, channel.start(now_ns)});
    job = channel.next(now_ns);
  } while (job != nullptr && !alone && !job->isolate && !job->retried &&
           job->pipeline_index == pipeline_index &&
           forming_.jobs.size() < settings_.max_batch_jobs &&
           forming_.input_bytes + job->input_bytes <= settings_.max_batch_bytes);
}

std::size_t Engine::harvest(std::uint64_t now_ns) {
  std::size_t harvested = 0;
  for (Lane& lane : lanes_) {
    while (const auto ended = lane.harvest()) {
      switch (ended->status.outcome) {
        case DeviceOutcome::ok:
          finish(*ended, now_ns);
          break;
        case DeviceOutcome::failed:
          retry_or_fail(*ended, now_ns);
          break;
        case DeviceOutcome::lost:
          lose(ended->status.code);
          return harvested;
      }
      isolated_in_flight_ = isolated_in_flight_ && !ended->batch->isolate;
      lane.retire();
      --batches_in_flight_;
      ++harvested;
    }
  }
  return harvested;
}

void Engine::finish(const Lane::Ended& ended, std::uint64_t now_ns) {
  const std::size_t stage_count = ended.batch->pipeline->stages().size();
  for (std::uint32_t i = 0; i < ended.batch->jobs.size(); ++i) {
    const BatchJob& entry = ended.batch->jobs[i];
    entry.channel->finish(entry.job, end_of(ended, stage_count, i), now_ns);
  }
}

void Engine::retry_or_fail(const Lane::Ended& ended, std::uint64_t now_ns) {
  // In reverse, so that the jobs stand in front of the queue in their old order.
  for (auto entry = ended.batch->jobs.rbegin(); entry != ended.batch->jobs.rend(); ++entry) {
    if (entry->job.retried) {
      entry->channel->finish(entry->job,
                             {.status = JobStatus::kernel_failed,
                              .detail_code = static_cast<std::uint32_t>(ended.status.code)},
                             now_ns);
    } else {
      entry->job.retried = true;
      entry->channel->requeue(entry->job);
      add_to(counters_.jobs_retried, 1);
    }
  }
}

void Engine::publish() {
  for (Member& member : channels_) {
    if (member.channel->publish()) {
      const ChannelCounters counted = member.channel->drain_counters();
      add_to(counters_.jobs_done, counted.jobs_done);
      add_to(counters_.jobs_failed, counted.jobs_failed);
      add_to(counters_.input_bytes, counted.input_bytes);
      add_to(counters_.output_bytes, counted.output_bytes);
      add_to(counters_.producer_wakes, counted.wakes);
    }
  }
}

void Engine::sweep() {
  for (auto* members : {&channels_, &parked_}) {
    std::erase_if(*members, [&](const Member& member) {
      if (!member.leaving || member.channel->issued_count() != 0) {
        return false;
      }
      listener_.on_removed(member.channel->id());
      --leaving_count_;
      return true;
    });
  }
  const bool idle = std::all_of(channels_.begin(), channels_.end(), [](const Member& member) {
    return member.channel->queued_count() == 0 && member.channel->issued_count() == 0;
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
