// A PyTorch DataLoader beside the daemon, in turns.
#include "tests/bench/bench.hpp"

#include <stdexcept>

#if OVERLAP_HAVE_JSON
#include <nlohmann/json.hpp>
#endif

namespace overlap::bench {

#if OVERLAP_HAVE_JSON

namespace {

/// Importing torch from a cold disk and starting its workers takes its time.
constexpr std::chrono::minutes kStartLimit{5};
constexpr std::chrono::minutes kAnswerLimit{2};

/// The script that stands beside this program.
class DataLoaderPeer {
 public:
  DataLoaderPeer(const Bench& bench, std::uint64_t bytes, std::uint32_t batch)
      : python_(bench.options.python),
        process_({bench.options.python, program_path("dataloader_peer.py"), "--payload-bytes",
                  std::to_string(bytes), "--batch", std::to_string(batch), "--workers",
                  std::to_string(bench.options.dataloader_workers), "--device",
                  bench.daemon.is_cuda() ? "cuda" : "cpu"}) {}

  /// @return empty if it is ready, else why it cannot run
  std::string start() {
    try {
      const std::string line = process_.read_line(kStartLimit);
      return line == "ready" ? "" : line;
    } catch (const std::runtime_error& error) {
      if (process_.has_ended()) {
        return python_ + " or dataloader_peer.py is not here: " + error.what();
      }
      throw;
    }
  }

  /// @return payloads a second
  double run(std::chrono::milliseconds duration) {
    process_.write_line("run " + std::to_string(duration.count()));
    const std::string line = process_.read_line(kAnswerLimit);
    const auto answer = nlohmann::json::parse(line, nullptr, false);
    if (!answer.is_object() || !answer.value("verified", false)) {
      throw std::runtime_error("the DataLoader says: " + line);
    }
    return answer.at("items_per_second").get<double>();
  }

 private:
  std::string python_;
  ChildProcess process_;
};

/// @return false if there is no DataLoader here
bool measure_size(Bench& bench, ReportTable& table, std::uint64_t bytes, std::uint32_t batch) {
  const std::uint32_t producers = bench.options.producer_counts.front();
  const auto slots = bench.slots_for(bytes, producers);
  if (!slots) {
    bench.note_no_room(bytes, producers);
    return true;
  }
  DataLoaderPeer peer(bench, bytes, batch);
  if (const std::string why_not = peer.start(); !why_not.empty()) {
    bench.report.add_note("left out: PyTorch DataLoader: " + why_not);
    return false;
  }
  ProcessFleet fleet(producers, bench.role("producer", bytes, *slots));
  const std::chrono::milliseconds round = bench.options.round;
  static_cast<void>(fleet.run(producers, round));
  std::vector<double> peers;
  std::vector<double> peer_rates;
  std::vector<double> daemons;
  std::vector<double> ratios;
  for (std::uint32_t i = 0; i < bench.options.round_count; ++i) {
    peers.push_back(peer.run(round));
    peer_rates.push_back(peers.back() * static_cast<double>(bytes) * 1e-9);
    daemons.push_back(fleet.run(producers, round).jobs_per_second);
    ratios.push_back(daemons.back() / peers.back());
  }
  bench.report.add_row(
      table, {bytes, producers, "DataLoader, batch " + std::to_string(batch),
              Spread::of(peer_rates), Spread::of(peers), Spread::of(daemons), Spread::of(ratios)});
  return true;
}

}  // namespace

void measure_dataloader(Bench& bench) {
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "dataloader",
      "PyTorch DataLoader, " + std::to_string(bench.options.dataloader_workers) +
          " workers, pinned memory, non-blocking copies both ways, the same scale on the " +
          (bench.daemon.is_cuda() ? "GPU" : "CPU"),
      {{"slot_bytes", "payload", Form::bytes},
       {"producers", "producers", Form::number, 0},
       {"peer", "peer", Form::text},
       {"peer_gigabytes_per_second", "peer GB/s", Form::number, 3},
       {"peer_jobs_per_second", "peer items/s", Form::number, 0},
       {"daemon_jobs_per_second", "daemon jobs/s", Form::number, 0},
       {"daemon_over_peer", "daemon / peer", Form::number, 1, true}});
  for (const std::uint32_t batch : bench.options.dataloader_batches) {
    for (const std::uint64_t bytes : bench.options.dataloader_sizes) {
      if (!measure_size(bench, table, bytes, batch)) {
        return;
      }
    }
  }
}

#else

void measure_dataloader(Bench& bench) {
  bench.report.add_note(
      "left out: PyTorch DataLoader: this program was built without nlohmann-json3-dev");
}

#endif

}  // namespace overlap::bench
