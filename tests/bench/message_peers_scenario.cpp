#include "tests/bench/message_peers.hpp"

#include "tests/bench/bench.hpp"

#include <algorithm>
#include <set>

namespace overlap::bench {
namespace {

/// Below it a message is little more than its handling, and the peers are not meant for it.
constexpr std::uint64_t kLeastBytes = 4U << 10U;

/// In flight of each producer: more does no peer any good, as copies then leave the cache.
constexpr std::uint64_t kMostBytesInFlight = 16U << 20U;
constexpr std::uint64_t kFewestInFlight = 2;

using Start = MessagePeerOrReason (*)(const MessageLoad&);

void measure_peer(Bench& bench, ReportTable& table, const MessageLoad& load, Start start,
                  std::set<std::string>& told) {
  const MessagePeerOrReason started = start(load);
  if (!started.peer) {
    if (told.insert(started.why_not).second) {
      bench.report.add_note(started.why_not);
    }
    return;
  }
  ProcessFleet fleet(load.producer_count, bench.role("producer", load.slot_bytes, load.slot_count));
  const std::chrono::milliseconds round = bench.options.round;
  const double bytes = static_cast<double>(load.slot_bytes);
  static_cast<void>(fleet.run(load.producer_count, round));
  static_cast<void>(started.peer->run(round));
  std::vector<double> daemons;
  std::vector<double> peers;
  std::vector<double> jobs;
  std::vector<double> ratios;
  for (std::uint32_t i = 0; i < bench.options.round_count; ++i) {
    daemons.push_back(fleet.run(load.producer_count, round).jobs_per_second * bytes * 1e-9);
    jobs.push_back(started.peer->run(round).jobs_per_second);
    peers.push_back(jobs.back() * bytes * 1e-9);
    ratios.push_back(daemons.back() / peers.back());
  }
  bench.report.add_row(
      table, {load.slot_bytes, load.producer_count, load.slot_count, started.peer->name(),
              Spread::of(peers), Spread::of(jobs), Spread::of(daemons), Spread::of(ratios)});
}

}  // namespace

void measure_message_peers(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "message_peers",
      "Message passing to a process that runs the same kernel on the CPU and sends results back",
      {{"slot_bytes", "payload", Form::bytes},
       {"producers", "producers", Form::number, 0},
       {"messages_in_flight", "in flight", Form::number, 0},
       {"peer", "peer", Form::text},
       {"peer_gigabytes_per_second", "peer GB/s"},
       {"peer_jobs_per_second", "peer jobs/s", Form::number, 0},
       {"daemon_gigabytes_per_second", "daemon GB/s"},
       {"daemon_over_peer", "daemon / peer", Form::number, 2, true}});
  std::set<std::string> told;
  const std::uint32_t producers = bench.options.producer_counts.front();
  for (const std::uint64_t slot_bytes : bench.options.slot_sizes) {
    if (slot_bytes < kLeastBytes) {
      continue;
    }
    const auto slots = bench.slots_for(slot_bytes, producers);
    if (!slots) {
      bench.note_no_room(slot_bytes, producers);
      continue;
    }
    const auto in_flight = static_cast<std::uint32_t>(std::min<std::uint64_t>(
        *slots, std::max(kFewestInFlight, kMostBytesInFlight / slot_bytes)));
    const MessageLoad load{slot_bytes, in_flight, producers, worker_thread_count()};
    for (const Start start : {start_zeromq_peer, start_message_queue_peer}) {
      measure_peer(bench, table, load, start, told);
    }
  }
}

std::unique_ptr<Role> make_message_peer_role(const RoleOptions& options) {
  if (options.role.rfind("zeromq-", 0) == 0) {
    return make_zeromq_role(options);
  }
  if (options.role.rfind("queue-", 0) == 0) {
    return make_message_queue_role(options);
  }
  return nullptr;
}

}  // namespace overlap::bench
