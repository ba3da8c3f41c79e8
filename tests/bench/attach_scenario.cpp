// What a steady producer feels of memory that is attached and detached beside it.
#include "tests/bench/bench.hpp"

#include "shared/byte_size.hpp"

#include <algorithm>

namespace overlap::bench {
namespace {

constexpr std::uint64_t kSteadySlotBytes = 1U << 20U;
constexpr std::uint64_t kMostSlotBytes = 1U << 20U;

/// A producer that comes with so much channel memory, half of it input, and goes again.
RoleOptions attacher(const Bench& bench, std::uint64_t bytes) {
  const std::uint64_t slot_bytes = std::min(kMostSlotBytes, bytes / 2);
  return bench.role("attacher", slot_bytes,
                    static_cast<std::uint32_t>(std::max<std::uint64_t>(1, bytes / 2 / slot_bytes)));
}

double median_of_rounds(const Bench& bench, ProcessFleet& fleet) {
  std::vector<double> milliseconds;
  for (std::uint32_t i = 0; i < bench.options.round_count; ++i) {
    // The last one's memory has been given back.
    bench.daemon.wait_for_channels(0);
    const FleetOutcome outcome = fleet.run(1, std::chrono::milliseconds(0));
    milliseconds.push_back(static_cast<double>(outcome.latency.worst_ns()) * 1e-6);
  }
  return Spread::of(milliseconds).median;
}

void measure_quiet_attach(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "attach", "Attaching with nobody else busy, until 'ready'; median of the rounds",
      {{"bytes", "memory", Form::bytes}, {"attach_ms", "ms", Form::number, 1}});
  const std::uint64_t most = bench.options.attach_bytes;
  for (const std::uint64_t bytes : {most / 16, most / 4, most}) {
    ProcessFleet fleet(1, attacher(bench, bytes));
    bench.report.add_row(table, {bytes, median_of_rounds(bench, fleet)});
  }
}

void add_row(Bench& bench, ReportTable& table, const std::string& when, const LatencyRecord& record,
             const std::vector<double>& rates, const Cell& more_than_quiet, const Cell& attaches) {
  bench.report.add_row(table,
                       {when, Spread::of(rates), record.quantile_us(0.5), record.quantile_us(0.99),
                        record.quantile_us(0.999), static_cast<double>(record.worst_ns()) * 1e-3,
                        record.count(), more_than_quiet, attaches});
}

}  // namespace

void measure_attach(Bench& bench) {
  measure_quiet_attach(bench);
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "attach_disturbance",
      "A steady 1 MiB pipeline while another producer attaches and detaches " +
          format_bytes(bench.options.attach_bytes) + " again and again, us",
      {{"when", "when", Form::text},
       {"gigabytes_per_second", "GB/s (least-most)", Form::number, 2, true},
       {"p50_us", "p50", Form::number, 1},
       {"p99_us", "p99", Form::number, 1},
       {"p99_9_us", "p99.9", Form::number, 1},
       {"worst_us", "worst", Form::number, 0},
       {"samples", "samples", Form::number, 0},
       {"worst_beyond_quiet_p99_9_us", "beyond quiet p99.9", Form::number, 0},
       {"attaches", "attaches", Form::number, 0}});
  const auto slots = bench.slots_for(kSteadySlotBytes, 1);
  if (!slots) {
    bench.note_no_room(kSteadySlotBytes, 1);
    return;
  }
  ProcessFleet steady(1, bench.role("producer", kSteadySlotBytes, *slots));
  ProcessFleet attaching(1, attacher(bench, bench.options.attach_bytes));
  const std::chrono::milliseconds round = bench.options.round;
  static_cast<void>(steady.run(1, round));
  LatencyRecord quiet;
  LatencyRecord meanwhile;
  std::vector<double> quiet_rates;
  std::vector<double> meanwhile_rates;
  std::uint64_t attaches = 0;
  const auto rate = [](const FleetOutcome& outcome) {
    return outcome.jobs_per_second * static_cast<double>(kSteadySlotBytes) * 1e-9;
  };
  for (std::uint32_t i = 0; i < bench.options.round_count; ++i) {
    // What the last round left to unpin is not this quiet one's.
    bench.daemon.wait_for_channels(1);
    FleetOutcome outcome = steady.run(1, round);
    quiet.add(outcome.latency);
    quiet_rates.push_back(rate(outcome));
    attaching.start(1, round);
    outcome = steady.run(1, round);
    attaches += attaching.finish().jobs;
    meanwhile.add(outcome.latency);
    meanwhile_rates.push_back(rate(outcome));
  }
  const auto usual = quiet.quantile_us(0.999);
  const auto beyond = [&](const LatencyRecord& record) {
    return usual ? std::optional(static_cast<double>(record.worst_ns()) * 1e-3 - *usual)
                 : std::nullopt;
  };
  add_row(bench, table, "quiet", quiet, quiet_rates, beyond(quiet), Cell());
  add_row(bench, table, "meanwhile", meanwhile, meanwhile_rates, beyond(meanwhile), attaches);
}

}  // namespace overlap::bench
