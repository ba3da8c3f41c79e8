// How an engine chooses what goes out next, and with what.

#include "daemon/engine/batch_copies.hpp"
#include "daemon/engine/engine.hpp"

#include <algorithm>
#include <limits>
#include <stdexcept>
#include <utility>

namespace overlap {
namespace {

/// As cudaErrorMemoryAllocation.
constexpr int kNoEvent = 2;

}  // namespace

std::size_t Engine::issue(std::uint64_t now_ns) {
  std::size_t issued = 0;
  held_until_ns_ = UINT64_MAX;
  if (isolated_next_) {
    if (batches_in_flight_ != 0) {
      return 0;
    }
    // Now, before a higher priority fills the device again.
    issued += issue_next(*std::exchange(isolated_next_, std::nullopt), now_ns) ? 1 : 0;
  }
  for (const ChannelPriority priority : kPrioritiesByUrgency) {
    while (!lost_ && !isolated_in_flight_ && !isolated_next_ && issue_next(priority, now_ns)) {
      ++issued;
    }
  }
  return issued;
}

bool Engine::is_long_kernel(std::uint64_t cost_ns, std::uint64_t input_bytes) const noexcept {
  // Several times what a slow link takes for the bytes, there and back.
  constexpr std::uint64_t kCopyNsPerByte = 1;
  return cost_ns > settings_.max_ahead_ns && cost_ns > kCopyNsPerByte * input_bytes;
}

bool Engine::may_go(Channel& channel, const Job& job, bool is_ahead) const noexcept {
  // With one channel there is nobody who would have to wait behind its jobs.
  if (channels_.size() <= 1) {
    return true;
  }
  const std::uint64_t cost_ns = channel.pipeline(job.pipeline_index).cost_ns(*job.plan);
  if (is_long_kernel(cost_ns, job.input_bytes)) {
    return long_kernels_in_flight_ == 0;
  }
  // Who has nothing on the device, and has not used up his share, adds one batch to what others wait
  // for, and no more.
  return !is_ahead || (channel.issued_count() == 0 && FairTurns::has_credit(channel));
}

bool Engine::is_ahead(LaneGroup& group) const noexcept {
  return group.in_flight != 0 &&
         group.in_flight_ns - group.oldest_lane()->oldest_batch().cost_ns >= settings_.max_ahead_ns;
}

bool Engine::is_held_back(ChannelPriority priority, std::uint64_t now_ns) {
  if (settings_.max_batch_wait_ns == 0) {
    return false;
  }
  std::uint64_t jobs = 0;
  std::uint64_t bytes = 0;
  std::uint64_t oldest_ns = UINT64_MAX;
  bool alone = false;
  turns_[static_cast<std::size_t>(priority)].for_each([&](Channel& channel) {
    if (const Job* const job = channel.next(now_ns)) {
      jobs += channel.queued_count();
      bytes += channel.queued_bytes();
      oldest_ns = std::min(oldest_ns, job->taken_ns);
      alone = alone || job->isolate || job->retried;
    }
  });
  const bool full = jobs >= settings_.max_batch_jobs || bytes >= settings_.max_batch_bytes;
  if (jobs == 0 || full || alone || now_ns >= oldest_ns + settings_.max_batch_wait_ns) {
    return false;
  }
  held_until_ns_ = std::min(held_until_ns_, oldest_ns + settings_.max_batch_wait_ns);
  return true;
}

bool Engine::issue_next(ChannelPriority priority, std::uint64_t now_ns) {
  FairTurns& turns = turns_[static_cast<std::size_t>(priority)];
  LaneGroup& own = group_of(priority);
  LaneGroup& group = own.lanes.empty() ? group_of(ChannelPriority::normal) : own;
  if (turns.empty()) {
    return false;
  }
  Lane* const lane = group.free_lane();
  if (lane == nullptr || is_held_back(priority, now_ns)) {
    return false;
  }
  const bool ahead = is_ahead(group);
  Channel* const first = turns.pick(
      now_ns, [&](Channel& channel, const Job& job) { return may_go(channel, job, ahead); });
  if (first == nullptr) {
    return false;
  }
  if (first->next(now_ns)->isolate && batches_in_flight_ != 0) {
    // Nothing new goes out until the device is empty, or the isolated job would wait for ever.
    isolated_next_ = priority;
    return false;
  }
  if (!has_order_event(first->pipeline(first->next(now_ns)->pipeline_index))) {
    return false;
  }
  fill(turns, *first, *lane, ahead && channels_.size() > 1, now_ns);
  turns.pass_on(*first);
  forming_.long_kernel = is_long_kernel(forming_.cost_ns / forming_.jobs.size(),
                                        forming_.input_bytes / forming_.jobs.size());
  long_kernels_in_flight_ += forming_.long_kernel ? 1 : 0;
  isolated_in_flight_ = forming_.isolate;
  if (forming_.pipeline->is_stateful()) {
    forming_.order = forming_.pipeline->next_started++;
  }
  forming_.issued_ns = now_ns;
  forming_.issue_number = ++issue_count_;
  group.in_flight_ns += forming_.cost_ns;
  ++group.in_flight;
  ++batches_in_flight_;
  EngineCounters::add(counters_.batches, 1);
  EngineCounters::add(counters_.batches_mapped, forming_.path == Path::mapped ? 1 : 0);
  EngineCounters::add(counters_.batches_gathered, forming_.path == Path::gather ? 1 : 0);
  lane->issue(forming_);
  if (const auto code = lane->lost_code()) {
    // Now, not at the next harvest: jobs issued from here on would be marked as suspects.
    lose(*code);
  }
  return true;
}

bool Engine::has_order_event(ServedPipeline& pipeline) {
  if (pipeline.is_stateful() && !pipeline.order_event()) {
    try {
      pipeline.order_event() = events_->lease();
    } catch (const std::runtime_error&) {
      // A device without an event to give will not run anything else either.
      lose(kNoEvent);
      return false;
    }
  }
  return true;
}

void Engine::fill(FairTurns& turns, Channel& first, const Lane& lane, bool first_only,
                  std::uint64_t now_ns) {
  forming_.clear();
  const Job& job = *first.next(now_ns);
  forming_.pipeline = &first.pipeline(job.pipeline_index);
  forming_.isolate = job.isolate;
  forming_.parameters = first.parameters_of(job);
  const bool alone = job.isolate || job.retried;
  const std::uint32_t max_jobs = alone ? 1 : lane.max_batch_jobs(*forming_.pipeline);
  fill_from(first, max_jobs, now_ns);
  while (!first_only && forming_.jobs.size() < max_jobs) {
    const std::size_t before = forming_.jobs.size();
    bool others_wait = false;
    bool some_go = false;
    std::int64_t rounds = std::numeric_limits<std::int64_t>::max();
    turns.for_each([&](Channel& channel) {
      const Job* const next = channel.next(now_ns);
      if (next == nullptr) {
        return;
      }
      const bool goes = goes_with_batch(channel, *next, max_jobs);
      if (!FairTurns::has_credit(channel)) {
        rounds = std::min(rounds, FairTurns::rounds_missing(channel));
        some_go = some_go || goes;
      } else if (goes) {
        fill_from(channel, max_jobs, now_ns);
      } else {
        others_wait = true;
      }
    });
    if (others_wait) {
      break;
    }
    if (forming_.jobs.size() != before) {
      // Who has used a round up just now is short as well: rounds are counted anew.
      continue;
    }
    if (!some_go) {
      break;
    }
    // What is left of the batch goes to those who have used their round up, as far as nobody else
    // is owed more.
    turns.begin_rounds(rounds);
  }
  choose_way();
}

void Engine::choose_way() {
  const DeviceProperties& device = device_.properties();
  if (device.works_in_place) {
    forming_.path = Path::copy;
    return;
  }
  const auto sorted_bytes_a_copy = [&] {
    sort_by_slot(forming_, sort_scratch_);
    return bytes_a_copy(forming_, copies_scratch_);
  };
  forming_.path = choose_path(settings_.path, device.kernels_reach_pinned && forming_.all_pinned,
                              job_may_be_mapped(), forming_.input_bytes / forming_.jobs.size(),
                              forming_.input_bytes, sorted_bytes_a_copy);
  if (forming_.path == Path::copy) {
    // Also where nothing had to be asked.
    sort_by_slot(forming_, sort_scratch_);
  }
}

bool Engine::job_may_be_mapped() const noexcept {
  // The plans of a pipeline differ in sizes alone.
  const std::vector<Plan>& plans = forming_.jobs.front()->plan->plan.stages;
  const auto bit = static_cast<std::uint8_t>(Path::mapped);
  return (plans.front().paths & plans.back().paths & bit) != 0;
}

bool Engine::starts_within_batch(Channel& channel, const Job& job) const noexcept {
  // States are made fresh before a batch, not in the middle of it.
  return forming_.pipeline->is_stateful() && channel.begins_anew(job) &&
         std::ranges::any_of(forming_.runs,
                             [&](const BatchRun& run) { return run.channel == &channel; });
}

bool Engine::goes_with_batch(Channel& channel, const Job& job,
                             std::uint32_t max_jobs) const noexcept {
  const bool is_small = job.input_bytes < settings_.path.copy_from_job_bytes;
  const bool batch_is_small = forming_.largest_input_bytes < settings_.path.copy_from_job_bytes;
  return forming_.jobs.size() < max_jobs &&
         forming_.batch_bytes + job.plan->batch_bytes <= settings_.max_batch_bytes &&
         forming_.cost_ns < settings_.max_ahead_ns && !job.isolate && !job.retried &&
         &channel.pipeline(job.pipeline_index) == forming_.pipeline &&
         channel.parameters_of(job) == forming_.parameters && !starts_within_batch(channel, job) &&
         channel.is_pinned() == forming_.all_pinned && is_small == batch_is_small;
}

void Engine::fill_from(Channel& channel, std::uint32_t max_jobs, std::uint64_t now_ns) {
  const Job* next = channel.next(now_ns);
  do {
    PlanCache::Entry& plan = *next->plan;
    const std::uint32_t cost_ns = forming_.pipeline->cost_ns(plan);
    std::uint32_t count = 1;
    if (next->is_plain() && !forming_.pipeline->is_stateful()) {
      count = channel.start_like(plan, jobs_that_fit(channel, plan.batch_bytes, cost_ns, max_jobs),
                                 now_ns, [&](Job& job) {
                                   job.cost_ns = cost_ns;
                                   forming_.jobs.push_back(&job);
                                 });
    } else {
      Job& job = channel.start(now_ns);
      job.cost_ns = cost_ns;
      forming_.jobs.push_back(&job);
    }
    forming_.close_run(channel, plan, count, cost_ns);
    FairTurns::charge(channel, std::int64_t{count} * cost_ns);
    next = channel.next(now_ns);
  } while (next != nullptr && FairTurns::has_credit(channel) &&
           goes_with_batch(channel, *next, max_jobs));
}

std::uint32_t Engine::jobs_that_fit(Channel& channel, std::uint64_t job_bytes,
                                    std::uint32_t cost_ns, std::uint32_t max_jobs) const noexcept {
  const auto rounded_up = [](std::uint64_t whole, std::uint64_t part) {
    return whole / part + (whole % part != 0 ? 1 : 0);
  };
  // Whoever has credit left may overdraw it by a part of a job; so may the bound of time.
  const auto credit_ns =
      static_cast<std::uint64_t>(std::max<std::int64_t>(channel.share().credit_ns, 1));
  const std::uint64_t ahead_ns =
      settings_.max_ahead_ns - std::min(settings_.max_ahead_ns, forming_.cost_ns);
  const std::uint64_t bytes =
      settings_.max_batch_bytes - std::min(settings_.max_batch_bytes, forming_.batch_bytes);
  const std::uint64_t fit =
      std::min({std::uint64_t{max_jobs} - forming_.jobs.size(), bytes / job_bytes,
                rounded_up(credit_ns, cost_ns), rounded_up(ahead_ns, cost_ns)});
  // One at least: it was found to go with the batch, or it is the first.
  return static_cast<std::uint32_t>(std::max<std::uint64_t>(fit, 1));
}

}  // namespace overlap
