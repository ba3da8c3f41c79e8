#include "producer/job_table.hpp"

#include <utility>

namespace overlap {

JobId JobTable::add(JobRecord job) {
  const JobId id{++last_id_};
  jobs_.emplace_hint(jobs_.end(), id, std::move(job));
  ++unfinished_;
  return id;
}

JobRecord* JobTable::find(JobId id) noexcept {
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? nullptr : &found->second;
}

void JobTable::finish(JobId id, JobRecord& job, const CompletionEntry& completion,
                      std::uint64_t now_ns) {
  job.phase = JobPhase::done;
  job.completion = completion;
  job.collected_ns = now_ns;
  job.done_number = ++last_done_;
  done_.emplace_hint(done_.end(), job.done_number, id);
  --unfinished_;
}

JobRecord JobTable::remove(JobId id) {
  const auto found = jobs_.find(id);
  JobRecord job = std::move(found->second);
  if (job.phase == JobPhase::done) {
    done_.erase(job.done_number);
  } else {
    --unfinished_;
  }
  jobs_.erase(found);
  return job;
}

std::optional<JobId> JobTable::first_done() const noexcept {
  for (const auto& [number, id] : done_) {
    if (jobs_.find(id)->second.claims == 0) {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<JobId> JobTable::first_submitted() const noexcept {
  for (const auto& [id, job] : jobs_) {
    if (job.claims == 0) {
      return id;
    }
  }
  return std::nullopt;
}

std::optional<JobId> JobTable::first_queued() const noexcept {
  for (const auto& [id, job] : jobs_) {
    if (job.phase == JobPhase::queued) {
      return id;
    }
  }
  return std::nullopt;
}

bool count_death(JobRecord& job, bool issued) noexcept {
  if (!issued) {
    return false;
  }
  if (job.isolated()) {
    ++job.deaths_alone;
  }
  ++job.deaths;
  return job.deaths_alone >= kDeathsAloneBeforeLost;
}

}  // namespace overlap
