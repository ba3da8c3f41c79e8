#include "tests/bench/bench_producer.hpp"

#include <optional>
#include <stdexcept>

namespace overlap::bench {

ProducerOptions producer_options(const RoleOptions& options) {
  return {.socket_path = options.socket_path,
          .pipelines = {pipeline_text(options.work, options.repeat)},
          .slot_count = options.slot_count,
          .input_bytes = options.slot_bytes,
          // A GiB of memory is pinned in small steps.
          .attach_timeout = std::chrono::seconds(60),
          .spin = options.spin};
}

BenchProducer::BenchProducer(const RoleOptions& options)
    : work_(options.work), producer_(producer_options(options)) {
  submissions_.reserve(options.slot_count);
  fill_all(options.index);
}

void BenchProducer::fill_all(std::uint32_t seed) {
  seed_ = seed;
  std::vector<Slot> slots;
  while (auto slot = producer_.try_acquire()) {
    fill_payload(slot->input<float>(), seed_++);
    slots.push_back(std::move(*slot));
  }
}

void BenchProducer::submit_free(bool fill) {
  submissions_.clear();
  while (auto slot = producer_.try_acquire()) {
    if (fill) {
      fill_payload(slot->input<float>(), seed_++);
    }
    submissions_.push_back({.slot = std::move(*slot)});
  }
  if (!submissions_.empty()) {
    static_cast<void>(producer_.submit_many(submissions_));
  }
}

std::uint64_t BenchProducer::submit_some(std::uint64_t at_most) {
  submissions_.clear();
  while (submissions_.size() < at_most) {
    auto slot = producer_.try_acquire();
    if (!slot) {
      break;
    }
    submissions_.push_back({.slot = std::move(*slot)});
  }
  if (!submissions_.empty()) {
    static_cast<void>(producer_.submit_many(submissions_));
  }
  return submissions_.size();
}

std::uint64_t BenchProducer::collect_some(LatencyRecord& latency, std::uint64_t stride) {
  std::uint64_t count = 0;
  std::optional<Result> result = producer_.wait_any();
  while (result) {
    if (!result->ok()) {
      throw std::runtime_error("a job failed: " + result->status_text());
    }
    if (seen_++ % stride == 0) {
      latency.add(result->collected_ns() - result->ready_ns());
    }
    result->release();
    ++count;
    result = producer_.try_any();
  }
  return count;
}

std::uint64_t BenchProducer::finish_and_check() {
  producer_.flush();
  std::uint64_t count = 0;
  while (auto result = producer_.try_any()) {
    check(*result);
    ++count;
  }
  return count;
}

void BenchProducer::check(const Result& result) const {
  if (!result.ok()) {
    throw std::runtime_error("a job failed: " + result.status_text());
  }
  if (!is_right(work_, result.input<float>(), result.output<float>())) {
    throw std::runtime_error("a result is wrong");
  }
}

}  // namespace overlap::bench
