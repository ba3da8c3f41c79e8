// A producer that keeps every slot submitted.
#include "tests/bench/bench_producer.hpp"
#include "tests/bench/role.hpp"

#include "shared/monotonic_clock.hpp"

namespace overlap::bench {
namespace {

/// Of small jobs one latency in so many is kept: the clock and the record must not be what is
/// measured.
constexpr std::uint64_t kSmallJobBytes = 64U << 10U;
constexpr std::uint64_t kSmallJobStride = 16;

class ProducerRole final : public Role {
 public:
  explicit ProducerRole(const RoleOptions& options)
      : producer_(options),
        stride_(options.slot_bytes <= kSmallJobBytes ? kSmallJobStride : 1),
        seed_(options.index) {}

  void prepare() override { producer_.fill_all(seed_ += 97); }

  RoundOutcome run(std::chrono::nanoseconds duration, const std::string& how) override {
    const bool fill = how == "fill";
    const auto duration_ns = static_cast<std::uint64_t>(duration.count());
    RoundOutcome outcome;
    const std::uint64_t start_ns = monotonic_now_ns();
    producer_.submit_free(fill);
    while (monotonic_now_ns() - start_ns < duration_ns || outcome.jobs == 0) {
      outcome.jobs += producer_.collect_some(outcome.latency, stride_);
      producer_.submit_free(fill);
    }
    // The rate is of what ended within the time; what is under way is waited for and checked.
    outcome.seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
    static_cast<void>(producer_.finish_and_check());
    return outcome;
  }

 private:
  BenchProducer producer_;
  std::uint64_t stride_;
  std::uint32_t seed_;
};

/// The textbook's vector add, chunk by chunk: the time from the first submission to the last result.
class TextbookRole final : public Role {
 public:
  explicit TextbookRole(const RoleOptions& options)
      : producer_(options),
        chunk_count_(options.element_count * 2 * sizeof(float) / options.slot_bytes) {}

  void prepare() override { producer_.fill_all(seed_ += 97); }

  RoundOutcome run(std::chrono::nanoseconds /*duration*/, const std::string& /*how*/) override {
    RoundOutcome outcome;
    const std::uint64_t start_ns = monotonic_now_ns();
    std::uint64_t submitted = producer_.submit_some(chunk_count_);
    while (submitted < chunk_count_) {
      outcome.jobs += producer_.collect_some(outcome.latency, 1);
      submitted += producer_.submit_some(chunk_count_ - submitted);
    }
    producer_.wait_for_all();
    outcome.seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
    // Results that were not picked up yet: with a slot for every chunk that is all of them.
    outcome.jobs += producer_.finish_and_check();
    return outcome;
  }

 private:
  BenchProducer producer_;
  std::uint64_t chunk_count_;
  std::uint32_t seed_ = 0;
};

}  // namespace

std::unique_ptr<Role> make_producer_role(const RoleOptions& options) {
  return std::make_unique<ProducerRole>(options);
}

std::unique_ptr<Role> make_textbook_role(const RoleOptions& options) {
  return std::make_unique<TextbookRole>(options);
}

}  // namespace overlap::bench
