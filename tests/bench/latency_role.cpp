// A producer with one job at a time.
#include "tests/bench/bench_producer.hpp"
#include "tests/bench/role.hpp"

#include "shared/monotonic_clock.hpp"

#include <stdexcept>

namespace overlap::bench {
namespace {

class LatencyRole final : public Role {
 public:
  explicit LatencyRole(const RoleOptions& options)
      : work_(options.work), producer_(producer_options(options)) {
    Slot slot = producer_.acquire();
    fill_payload(slot.input<float>(), options.index);
  }

  RoundOutcome run(std::chrono::nanoseconds duration, const std::string& /*how*/) override {
    const auto duration_ns = static_cast<std::uint64_t>(duration.count());
    RoundOutcome outcome;
    const std::uint64_t start_ns = monotonic_now_ns();
    std::uint64_t done_ns = start_ns;
    while (done_ns - start_ns < duration_ns || outcome.jobs == 0) {
      Slot slot = producer_.acquire();
      // Another input each time, so that the last result would be a wrong one.
      slot.input<float>().front() = static_cast<float>(outcome.jobs & 4095U);
      const std::uint64_t submitted_ns = monotonic_now_ns();
      const JobId id = producer_.submit(std::move(slot));
      const Result result = producer_.wait(id);
      done_ns = monotonic_now_ns();
      outcome.latency.add(done_ns - submitted_ns);
      ++outcome.jobs;
      if (!result.ok()) {
        throw std::runtime_error("a job failed: " + result.status_text());
      }
      if (!is_right(work_, result.input<float>(), result.output<float>())) {
        throw std::runtime_error("a result is wrong");
      }
    }
    outcome.seconds = static_cast<double>(done_ns - start_ns) * 1e-9;
    return outcome;
  }

 private:
  Work work_;
  Producer producer_;
};

}  // namespace

std::unique_ptr<Role> make_latency_role(const RoleOptions& options) {
  return std::make_unique<LatencyRole>(options);
}

}  // namespace overlap::bench
