// What a small producer with one job at a time feels of others, and they of it.
#include "tests/bench/bench.hpp"

#include <algorithm>
#include <string>
#include <thread>

namespace overlap::bench {
namespace {

constexpr std::uint64_t kSmallBytes = 4U << 10U;
/// The neighbour has filled its slots before the small one's clock starts, and goes on until it has
/// stopped.
constexpr std::chrono::milliseconds kHeadStart{50};

constexpr std::chrono::milliseconds kOneJobRound{300};

/// What one job of such a producer takes with nobody else there, us.
double one_job_us(RoleOptions role) {
  role.role = "latency";
  role.slot_count = 1;
  ProcessFleet alone(1, role);
  const LatencyRecord record = alone.run(1, kOneJobRound).latency;
  return record.quantile_us(0.5).value_or(static_cast<double>(record.worst_ns()) * 1e-3);
}

/// Within what vector_add takes.
std::uint32_t repeats(double wanted) {
  return static_cast<std::uint32_t>(std::clamp(wanted, 1.0, 100'000.0));
}

/// Makes the role's kernel take about so long, by trying.
void set_repeat(RoleOptions& role, std::chrono::milliseconds kernel) {
  constexpr std::uint32_t kTrial = 11;
  const double wanted_us = static_cast<double>(kernel.count()) * 1e3;
  role.work = Work::vector_add;
  role.repeat = 1;
  const double once_us = one_job_us(role);
  role.repeat = kTrial;
  const double pass_us = std::max(0.1, (one_job_us(role) - once_us) / (kTrial - 1));
  role.repeat = repeats(wanted_us / pass_us);
  // Some passes take hardly longer than the copies around them; many say it better.
  role.repeat = repeats(role.repeat * wanted_us / std::max(1.0, one_job_us(role) - once_us));
}

/// A producer that takes what it can get.
class Neighbour {
 public:
  Neighbour(std::string name, const RoleOptions& role)
      : name_(std::move(name)), fleet_(1, role), one_job_us_(bench::one_job_us(role)) {}

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] double one_job_us() const { return one_job_us_; }

  void measure_alone(std::chrono::milliseconds round) {
    alone_.push_back(fleet_.run(1, round).jobs_per_second);
  }
  void measure_beside(ProcessFleet& small, std::chrono::milliseconds round) {
    fleet_.start(1, round + 2 * kHeadStart);
    std::this_thread::sleep_for(kHeadStart);
    const LatencyRecord record = small.run(1, round).latency;
    small_.add(record);
    beside_.push_back(fleet_.finish().jobs_per_second);
  }

  [[nodiscard]] const LatencyRecord& small() const { return small_; }
  [[nodiscard]] Spread alone() const { return Spread::of(alone_); }
  [[nodiscard]] Spread beside() const { return Spread::of(beside_); }

 private:
  std::string name_;
  ProcessFleet fleet_;
  double one_job_us_;
  LatencyRecord small_{};
  std::vector<double> alone_;
  std::vector<double> beside_;
};

}  // namespace

void measure_fairness(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "fairness", "A producer of one 4 KiB job at a time, us, and what its neighbour gets done",
      {{"small_producer", "4 KiB producer", Form::text},
       {"p50_us", "p50", Form::number, 1},
       {"p99_us", "p99", Form::number, 1},
       {"p99_9_us", "p99.9", Form::number, 1},
       {"worst_us", "worst", Form::number, 0},
       {"samples", "samples", Form::number, 0},
       {"neighbour_one_job_us", "one big job", Form::number, 0},
       {"p99_goal_us", "3 x p99 + job", Form::number, 0},
       {"neighbour_alone_gigabytes_per_second", "big alone GB/s", Form::number, 3},
       {"neighbour_beside_gigabytes_per_second", "beside GB/s", Form::number, 3}});
  const std::uint64_t greedy_bytes = bench.options.greedy_slot_bytes;
  const auto slots = bench.slots_for(greedy_bytes, 2);
  if (!slots) {
    bench.note_no_room(greedy_bytes, 2);
    return;
  }
  ProcessFleet small(1, bench.role("latency", kSmallBytes, 1));
  Neighbour greedy("beside a greedy one", bench.role("producer", greedy_bytes, *slots));
  RoleOptions long_role = bench.role("producer", greedy_bytes, *slots);
  set_repeat(long_role, bench.options.long_kernel);
  Neighbour long_kernels("beside long kernels", long_role);
  const std::chrono::milliseconds round = bench.options.round;
  static_cast<void>(small.run(1, round));
  LatencyRecord quiet;
  for (std::uint32_t i = 0; i < bench.options.round_count; ++i) {
    quiet.add(small.run(1, round).latency);
    for (Neighbour* neighbour : {&greedy, &long_kernels}) {
      neighbour->measure_alone(round);
      neighbour->measure_beside(small, round);
    }
  }
  const auto cells = [](const std::string& name, const LatencyRecord& record) {
    return std::vector<Cell>{name,
                             record.quantile_us(0.5),
                             record.quantile_us(0.99),
                             record.quantile_us(0.999),
                             static_cast<double>(record.worst_ns()) * 1e-3,
                             record.count()};
  };
  std::vector<Cell> row = cells("alone", quiet);
  row.resize(table.columns().size());
  bench.report.add_row(table, row);
  for (const Neighbour* neighbour : {&greedy, &long_kernels}) {
    const auto in_gigabytes = [&](const Spread& jobs) {
      const double factor = static_cast<double>(greedy_bytes) * 1e-9;
      return Spread{factor * jobs.median, factor * jobs.least, factor * jobs.most};
    };
    row = cells(neighbour->name(), neighbour->small());
    const auto quiet_p99 = quiet.quantile_us(0.99);
    row.emplace_back(neighbour->one_job_us());
    row.emplace_back(quiet_p99 ? std::optional(3 * *quiet_p99 + neighbour->one_job_us())
                               : std::nullopt);
    row.emplace_back(in_gigabytes(neighbour->alone()));
    row.emplace_back(in_gigabytes(neighbour->beside()));
    bench.report.add_row(table, row);
  }
}

}  // namespace overlap::bench
