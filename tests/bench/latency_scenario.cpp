// One job at a time, and beside it a bare semaphore ping-pong.
#include "tests/bench/bench.hpp"
#include "tests/bench/semaphore_ping_pong.hpp"

namespace overlap::bench {
namespace {

/// Long enough that a polling producer never sleeps.
constexpr std::chrono::seconds kPolling{3600};

struct Rounds {
  LatencyRecord all{};
  std::vector<double> p50;
  std::vector<double> over_ping_pong;

  void add(const LatencyRecord& round) {
    all.add(round);
    p50.push_back(round.quantile_us(0.5).value_or(0));
  }
};

void add_row(Bench& bench, ReportTable& table, const std::string& who, const Cell& bytes,
             const Rounds& rounds) {
  Cell ratio;
  if (!rounds.over_ping_pong.empty()) {
    ratio = Spread::of(rounds.over_ping_pong);
  }
  bench.report.add_row(
      table, {who, bytes, Spread::of(rounds.p50), rounds.all.quantile_us(0.99),
              rounds.all.quantile_us(0.999), rounds.all.quantile_us(0.9999),
              static_cast<double>(rounds.all.worst_ns()) * 1e-3, rounds.all.count(), ratio});
}

void measure_size(Bench& bench, ReportTable& table, std::uint64_t bytes) {
  RoleOptions role = bench.role("latency", bytes, 1);
  role.spin = kPolling;
  ProcessFleet polling(1, role);
  role.spin = std::chrono::nanoseconds(0);
  ProcessFleet waiting(1, role);
  SemaphorePingPong ping_pong;
  const std::chrono::milliseconds round = bench.options.round;
  static_cast<void>(polling.run(1, round));
  static_cast<void>(waiting.run(1, round));
  Rounds of_polling;
  Rounds of_waiting;
  Rounds of_ping_pong;
  for (std::uint32_t i = 0; i < bench.options.round_count; ++i) {
    of_ping_pong.add(ping_pong.measure(round));
    of_polling.add(polling.run(1, round).latency);
    of_waiting.add(waiting.run(1, round).latency);
    const double bare = of_ping_pong.p50.back();
    of_polling.over_ping_pong.push_back(bare > 0 ? of_polling.p50.back() / bare : 0);
    of_waiting.over_ping_pong.push_back(bare > 0 ? of_waiting.p50.back() / bare : 0);
  }
  add_row(bench, table, "polling producer", bytes, of_polling);
  add_row(bench, table, "waiting producer", bytes, of_waiting);
  add_row(bench, table, "semaphore ping-pong", Cell(), of_ping_pong);
}

}  // namespace

void measure_latency(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "latency",
      "One job at a time, from before the submission until the result is there, us; beside it two "
      "processes that only wake each other",
      {{"who", "who", Form::text},
       {"slot_bytes", "slot", Form::bytes},
       {"p50_us", "p50 (least-most)", Form::number, 2, true},
       {"p99_us", "p99", Form::number, 1},
       {"p99_9_us", "p99.9", Form::number, 1},
       {"p99_99_us", "p99.99", Form::number, 1},
       {"worst_us", "worst", Form::number, 0},
       {"samples", "samples", Form::number, 0},
       {"p50_over_ping_pong", "p50 / ping-pong", Form::number, 2, true}});
  for (const std::uint64_t bytes : bench.options.latency_sizes) {
    measure_size(bench, table, bytes);
  }
}

}  // namespace overlap::bench
