#include "tests/bench/bench_producer.hpp"

#include <algorithm>
#include <optional>
#include <span>
#include <stdexcept>
#include <utility>

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
  slots_.resize(options.slot_count);
  submissions_.resize(options.slot_count);
  ids_.resize(options.slot_count);
  results_.resize(options.slot_count);
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

void BenchProducer::submit_free(bool fill) { static_cast<void>(submit(slots_.size(), fill)); }

std::uint64_t BenchProducer::submit_some(std::uint64_t at_most) { return submit(at_most, false); }

std::uint64_t BenchProducer::submit(std::uint64_t at_most, bool fill) {
  const std::size_t count = producer_.try_acquire_many(
      std::span(slots_).first(std::min<std::uint64_t>(at_most, slots_.size())));
  for (std::size_t i = 0; i < count; ++i) {
    if (fill) {
      fill_payload(slots_[i].input<float>(), seed_++);
    }
    submissions_[i].slot = std::move(slots_[i]);
  }
  if (count != 0) {
    producer_.submit_many(std::span(submissions_).first(count), std::span(ids_).first(count));
  }
  return count;
}

std::uint64_t BenchProducer::collect_some(LatencyRecord& latency, std::uint64_t stride) {
  const std::size_t count = producer_.wait_any_many(results_);
  const std::span<Result> taken = std::span(results_).first(count);
  for (const Result& result : taken) {
    if (!result.ok()) {
      throw std::runtime_error("a job failed: " + result.status_text());
    }
    if (seen_++ % stride == 0) {
      latency.add(result.collected_ns() - result.ready_ns());
    }
  }
  producer_.release_many(taken);
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
