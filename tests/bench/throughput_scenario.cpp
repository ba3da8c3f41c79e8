// Ceiling and daemon in turns, for every slot size and producer count.
#include "tests/bench/bench.hpp"

#include <algorithm>

namespace overlap::bench {
namespace {

struct Rounds {
  std::vector<double> ceilings;
  std::vector<double> rates;
  std::vector<double> shares;
  std::vector<double> jobs;
  /// Against the first producer count's rate of the same round.
  std::vector<double> of_first;
  LatencyRecord latency{};
  DaemonCounters counters{};
};

std::vector<Column> columns() {
  using Form = Column::Form;
  return {
      {"slot_bytes", "slot", Form::bytes},
      {"producers", "producers", Form::number, 0},
      {"slots_per_producer", "slots", Form::number, 0},
      {"ceiling_gigabytes_per_second", "ceiling GB/s"},
      {"daemon_gigabytes_per_second", "daemon GB/s"},
      {"share_of_ceiling", "share (least-most)", Form::share, 1, true},
      {"jobs_per_second", "jobs/s", Form::number, 0},
      {"share_of_first_count", "of 1st count", Form::share, 1},
      {"latency_p50_us", "p50 us", Form::number, 1},
      {"latency_p99_us", "p99 us", Form::number, 1},
      {"jobs_per_batch", "jobs/batch", Form::number, 1},
      {"producer_wakes_per_1000_jobs", "wakes/1k", Form::number, 2},
      {"engine_sleeps_per_1000_jobs", "sleeps/1k", Form::number, 2},
  };
}

double per_thousand(std::uint64_t count, std::uint64_t jobs) {
  return 1000 * static_cast<double>(count) / static_cast<double>(std::max<std::uint64_t>(1, jobs));
}

void measure_size(Bench& bench, ReportTable& table, std::uint64_t slot_bytes) {
  std::vector<std::uint32_t> counts;
  for (const std::uint32_t count : bench.options.producer_counts) {
    if (bench.slots_for(slot_bytes, count)) {
      counts.push_back(count);
    } else {
      bench.note_no_room(slot_bytes, count);
    }
  }
  if (counts.empty()) {
    return;
  }
  const std::uint32_t most = *std::max_element(counts.begin(), counts.end());
  const auto slots = bench.slots_for(slot_bytes, most);
  // One fleet for every count, so that all of them are measured in turns: the others stand idle.
  ProcessFleet fleet(most, bench.role("producer", slot_bytes, *slots));
  Ceiling ceiling(bench.daemon.is_cuda(), slot_bytes, *slots * most);
  static_cast<void>(fleet.run(most, bench.options.round));
  std::vector<Rounds> all(counts.size());
  for (std::uint32_t round = 0; round < bench.options.round_count; ++round) {
    for (std::size_t which = 0; which < counts.size(); ++which) {
      Rounds& rounds = all[which];
      const double best = ceiling.measure(*slots * counts[which], bench.options.round);
      const DaemonCounters before = bench.daemon.counters();
      const FleetOutcome outcome = fleet.run(counts[which], bench.options.round);
      rounds.counters += bench.daemon.counters() - before;
      const double rate = outcome.jobs_per_second * static_cast<double>(slot_bytes) * 1e-9;
      rounds.ceilings.push_back(best);
      rounds.rates.push_back(rate);
      rounds.shares.push_back(rate / best);
      rounds.jobs.push_back(outcome.jobs_per_second);
      rounds.of_first.push_back(rate / all.front().rates.back());
      rounds.latency.add(outcome.latency);
    }
  }
  for (std::size_t which = 0; which < counts.size(); ++which) {
    const Rounds& rounds = all[which];
    const DaemonCounters& counted = rounds.counters;
    Cell of_first;
    if (counts.size() > 1) {
      of_first = Spread::of(rounds.of_first);
    }
    bench.report.add_row(
        table, {slot_bytes, counts[which], *slots, Spread::of(rounds.ceilings),
                Spread::of(rounds.rates), Spread::of(rounds.shares), Spread::of(rounds.jobs),
                of_first, rounds.latency.quantile_us(0.5), rounds.latency.quantile_us(0.99),
                static_cast<double>(counted.jobs) /
                    static_cast<double>(std::max<std::uint64_t>(1, counted.batches)),
                per_thousand(counted.producer_wakes, counted.jobs),
                per_thousand(counted.engine_sleeps, counted.jobs)});
  }
}

}  // namespace

void measure_throughput(Bench& bench) {
  ReportTable& table = bench.report.begin_table(
      "throughput",
      bench.daemon.is_cuda()
          ? "Throughput of resubmitting producers, scale; ceiling: copies of 16 MiB both ways at "
            "once, each way, in one process"
          : "Throughput of resubmitting producers, scale; ceiling: the same kernel over as many "
            "buffers in one process",
      columns());
  for (const std::uint64_t slot_bytes : bench.options.slot_sizes) {
    measure_size(bench, table, slot_bytes);
  }
}

}  // namespace overlap::bench
