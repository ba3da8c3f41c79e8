#include "producer/job_table.hpp"

#include <algorithm>
#include <utility>

namespace overlap {
namespace {

constexpr unsigned kFirstBucketBits = 6;
constexpr std::size_t kSmallestChunk = 64;

std::size_t bucket_index(JobId id, unsigned shift) noexcept {
  // Fibonacci hashing: spreads consecutive ids evenly, also beside old ones that were left unpicked.
  return static_cast<std::size_t>((job_number(id) * 0x9e3779b97f4a7c15ULL) >> shift);
}

}  // namespace

JobTable::JobTable() { grow_buckets(kFirstBucketBits); }

JobRecord*& JobTable::bucket(JobId id) noexcept {
  return buckets_[bucket_index(id, bucket_shift_)];
}

void JobTable::grow_buckets(unsigned bits) {
  std::vector<JobRecord*> buckets(std::size_t{1} << bits, nullptr);
  buckets_.swap(buckets);
  bucket_shift_ = 64 - bits;
  for (JobRecord* job = all_.first; job != nullptr; job = job->in_order_.next) {
    job->chain_ = std::exchange(bucket(job->id), job);
  }
}

void JobTable::reserve(std::size_t count) {
  const std::size_t wanted = size_ + count;
  unsigned bits = 64 - bucket_shift_;
  while ((std::size_t{1} << bits) < wanted) {
    ++bits;
  }
  if (bits != 64 - bucket_shift_) {
    grow_buckets(bits);
  }
  if (record_count_ < wanted) {
    const std::size_t more = std::max(wanted - record_count_, kSmallestChunk);
    unused_.reserve(record_count_ + more);
    chunks_.push_back(std::make_unique<JobRecord[]>(more));
    record_count_ += more;
    // So that the first of the chunk is taken first.
    for (std::size_t i = more; i > 0; --i) {
      unused_.push_back(&chunks_.back()[i - 1]);
    }
  }
}

template <JobRecord::Links JobRecord::*links>
void JobTable::append(List& list, JobRecord& job) noexcept {
  job.*links = {list.last, nullptr};
  (list.last != nullptr ? (list.last->*links).next : list.first) = &job;
  list.last = &job;
}

template <JobRecord::Links JobRecord::*links>
void JobTable::take_out(List& list, JobRecord& job) noexcept {
  const Links& here = job.*links;
  (here.previous != nullptr ? (here.previous->*links).next : list.first) = here.next;
  (here.next != nullptr ? (here.next->*links).previous : list.last) = here.previous;
}

JobRecord& JobTable::add() {
  if (unused_.empty() || size_ == buckets_.size()) {
    reserve(1);
  }
  JobRecord& job = *unused_.back();
  unused_.pop_back();
  job.id = JobId{++last_id_};
  job.claims = 0;
  job.phase = JobPhase::queued;
  job.cancel_wanted = false;
  job.cancel_written = false;
  job.parameter_flags = 0;
  job.deaths = 0;
  job.deaths_alone = 0;
  job.chain_ = std::exchange(bucket(job.id), &job);
  append<&JobRecord::in_order_>(all_, job);
  append<&JobRecord::in_phase_>(queued_, job);
  ++size_;
  return job;
}

JobRecord* JobTable::find(JobId id) const noexcept {
  JobRecord* job = buckets_[bucket_index(id, bucket_shift_)];
  while (job != nullptr && job->id != id) {
    job = job->chain_;
  }
  return job;
}

void JobTable::mark_submitted(JobRecord& job) noexcept {
  take_out<&JobRecord::in_phase_>(queued_, job);
  job.phase = JobPhase::submitted;
}

void JobTable::queue_unfinished() noexcept {
  // Afresh, for those that were queued already are younger than those that were submitted.
  queued_ = {};
  for_each_unfinished([this](JobRecord& job) {
    job.phase = JobPhase::queued;
    append<&JobRecord::in_phase_>(queued_, job);
  });
}

void JobTable::finish(JobRecord& job, const CompletionEntry& completion,
                      std::uint64_t now_ns) noexcept {
  if (job.phase == JobPhase::queued) {
    take_out<&JobRecord::in_phase_>(queued_, job);
  }
  job.phase = JobPhase::done;
  job.completion = completion;
  job.collected_ns = now_ns;
  append<&JobRecord::in_phase_>(done_, job);
  ++results_;
}

void JobTable::remove(JobRecord& job) noexcept {
  if (job.phase == JobPhase::done) {
    take_out<&JobRecord::in_phase_>(done_, job);
    --results_;
  } else if (job.phase == JobPhase::queued) {
    take_out<&JobRecord::in_phase_>(queued_, job);
  }
  take_out<&JobRecord::in_order_>(all_, job);
  JobRecord** link = &bucket(job.id);
  while (*link != &job) {
    link = &(*link)->chain_;
  }
  *link = job.chain_;
  unused_.push_back(&job);
  --size_;
}

JobRecord* JobTable::first_done() const noexcept {
  JobRecord* job = done_.first;
  while (job != nullptr && job->claims != 0) {
    job = job->in_phase_.next;
  }
  return job;
}

JobRecord* JobTable::first_submitted() const noexcept {
  JobRecord* job = all_.first;
  while (job != nullptr && job->claims != 0) {
    job = job->in_order_.next;
  }
  return job;
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
