// Producers that submit nothing: many idle ones, and one that comes and goes.
#include "tests/bench/bench_producer.hpp"
#include "tests/bench/role.hpp"

#include "shared/monotonic_clock.hpp"

#include <stdexcept>

namespace overlap::bench {
namespace {

class IdleRole final : public Role {
 public:
  explicit IdleRole(const RoleOptions& options) {
    producers_.reserve(options.count);
    for (std::uint32_t i = 0; i < options.count; ++i) {
      producers_.emplace_back(producer_options(options));
    }
  }

  RoundOutcome run(std::chrono::nanoseconds /*duration*/, const std::string& /*how*/) override {
    throw std::runtime_error("an idle producer runs nothing");
  }

 private:
  std::vector<Producer> producers_;
};

/// Each job of its outcome is an attach and a detach; the latency is the attach's.
class AttacherRole final : public Role {
 public:
  explicit AttacherRole(const RoleOptions& options) : options_(producer_options(options)) {}

  RoundOutcome run(std::chrono::nanoseconds duration, const std::string& /*how*/) override {
    const auto duration_ns = static_cast<std::uint64_t>(duration.count());
    RoundOutcome outcome;
    const std::uint64_t start_ns = monotonic_now_ns();
    std::uint64_t now_ns = start_ns;
    while (outcome.jobs == 0 || now_ns - start_ns < duration_ns) {
      const std::uint64_t attach_ns = monotonic_now_ns();
      const Producer producer(options_);
      now_ns = monotonic_now_ns();
      outcome.latency.add(now_ns - attach_ns);
      ++outcome.jobs;
    }
    outcome.seconds = static_cast<double>(monotonic_now_ns() - start_ns) * 1e-9;
    return outcome;
  }

 private:
  ProducerOptions options_;
};

}  // namespace

std::unique_ptr<Role> make_idle_role(const RoleOptions& options) {
  return std::make_unique<IdleRole>(options);
}

std::unique_ptr<Role> make_attacher_role(const RoleOptions& options) {
  return std::make_unique<AttacherRole>(options);
}

}  // namespace overlap::bench
