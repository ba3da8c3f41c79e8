// Whether channels that do nothing cost those that work anything.
#include "tests/bench/bench.hpp"
#include "tests/bench/interruption.hpp"

#include <algorithm>
#include <memory>

namespace overlap::bench {
namespace {

/// Every Producer has a thread of its own.
constexpr std::uint32_t kChannelsPerProcess = 50;
/// Small jobs are those that a walk over idle channels would show in, large ones the usual ones.
constexpr std::uint64_t kSmallSlotBytes = 4U << 10U;
constexpr std::uint64_t kLargeSlotBytes = 1U << 20U;

class IdleChannels {
 public:
  IdleChannels(const Bench& bench, std::uint32_t count) {
    for (std::uint32_t done = 0; done < count; done += kChannelsPerProcess) {
      throw_if_interrupted();
      RoleOptions role = bench.role("idle", 256, 1);
      role.count = std::min(kChannelsPerProcess, count - done);
      fleets_.push_back(std::make_unique<ProcessFleet>(1, role));
    }
  }

 private:
  std::vector<std::unique_ptr<ProcessFleet>> fleets_;
};

void measure_size(Bench& bench, ReportTable& table, std::uint64_t slot_bytes) {
  const std::uint32_t producers = bench.options.producer_counts.front();
  const auto slots = bench.slots_for(slot_bytes, producers);
  if (!slots) {
    bench.note_no_room(slot_bytes, producers);
    return;
  }
  const std::uint32_t count = bench.options.idle_channel_count;
  ProcessFleet fleet(producers, bench.role("producer", slot_bytes, *slots));
  static_cast<void>(fleet.run(producers, bench.options.round));
  const auto rate = [&] {
    return fleet.run(producers, bench.options.round).jobs_per_second *
           static_cast<double>(slot_bytes) * 1e-9;
  };
  std::vector<double> without;
  std::vector<double> with;
  std::vector<double> ratios;
  std::unique_ptr<IdleChannels> idle;
  // Without, with, with, without, and so on: a drift of the machine meets both alike, and a
  // thousand channels come or go once a round.
  for (std::uint32_t round = 0; round < bench.options.round_count; ++round) {
    for (int half = 0; half < 2; ++half) {
      if ((half == 1) != (round % 2 == 1)) {
        if (!idle) {
          idle = std::make_unique<IdleChannels>(bench, count);
        }
        with.push_back(rate());
      } else {
        if (idle) {
          idle.reset();
          bench.daemon.wait_for_channels(producers);
        }
        without.push_back(rate());
      }
    }
    ratios.push_back(with.back() / without.back());
  }
  bench.report.add_row(table, {slot_bytes, producers, count, Spread::of(without), Spread::of(with),
                               Spread::of(ratios)});
}

}  // namespace

void measure_idle_channels(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "idle_channels", "Throughput without and with idle channels attached, in turns",
      {{"slot_bytes", "slot", Form::bytes},
       {"producers", "producers", Form::number, 0},
       {"idle_channels", "idle", Form::number, 0},
       {"without_gigabytes_per_second", "without GB/s", Form::number, 2, true},
       {"with_gigabytes_per_second", "with GB/s", Form::number, 2, true},
       {"with_over_without", "with / without", Form::share, 1, true}});
  measure_size(bench, table, kSmallSlotBytes);
  measure_size(bench, table, kLargeSlotBytes);
}

}  // namespace overlap::bench
