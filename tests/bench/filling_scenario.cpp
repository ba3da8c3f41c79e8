// Producers that write every byte of the input before every submit, beside resubmitting ones.
#include "tests/bench/bench.hpp"

namespace overlap::bench {
namespace {

void measure_size(Bench& bench, ReportTable& table, std::uint64_t slot_bytes,
                  std::uint32_t producers) {
  const auto slots = bench.slots_for(slot_bytes, producers);
  if (!slots) {
    bench.note_no_room(slot_bytes, producers);
    return;
  }
  ProcessFleet fleet(producers, bench.role("producer", slot_bytes, *slots));
  Ceiling memory(bench.daemon.is_cuda(), slot_bytes, *slots * producers);
  static_cast<void>(fleet.run(producers, bench.options.round));
  const auto rate = [&](const std::string& how) {
    return fleet.run(producers, bench.options.round, how).jobs_per_second *
           static_cast<double>(slot_bytes) * 1e-9;
  };
  std::vector<double> memories;
  std::vector<double> resubmitting;
  std::vector<double> filling;
  std::vector<double> of_memory;
  std::vector<double> of_resubmitting;
  for (std::uint32_t round = 0; round < bench.options.round_count; ++round) {
    memories.push_back(memory.measure_filling(producers, bench.options.round));
    resubmitting.push_back(rate("resubmit"));
    filling.push_back(rate("fill"));
    of_memory.push_back(filling.back() / memories.back());
    of_resubmitting.push_back(filling.back() / resubmitting.back());
  }
  bench.report.add_row(table,
                       {slot_bytes, producers, Spread::of(memories), Spread::of(resubmitting),
                        Spread::of(filling), Spread::of(of_memory), Spread::of(of_resubmitting)});
}

}  // namespace

void measure_filling(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "filling",
      "Producers that write every byte before every submit, beside resubmitting ones; memory: the "
      "same writing in one process, with as many threads as producers",
      {{"slot_bytes", "slot", Form::bytes},
       {"producers", "producers", Form::number, 0},
       {"memory_gigabytes_per_second", "memory GB/s"},
       {"resubmitting_gigabytes_per_second", "resubmitting GB/s"},
       {"filling_gigabytes_per_second", "filling GB/s"},
       {"share_of_memory", "of memory (least-most)", Form::share, 1, true},
       {"share_of_resubmitting", "of resubmitting", Form::share, 1, true}});
  for (const std::uint64_t slot_bytes : bench.options.slot_sizes) {
    for (const std::uint32_t producers : bench.options.producer_counts) {
      measure_size(bench, table, slot_bytes, producers);
    }
  }
}

}  // namespace overlap::bench
