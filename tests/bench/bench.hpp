#pragma once

#include "tests/bench/bench_options.hpp"
#include "tests/bench/host_ceiling.hpp"
#include "tests/bench/measured_daemon.hpp"
#include "tests/bench/process_fleet.hpp"
#include "tests/bench/report.hpp"

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>

namespace overlap::bench {

/// What every scenario works with. Restricted: one thread.
struct Bench {
  const BenchOptions& options;
  MeasuredDaemon& daemon;
  Report& report;
  /// Channel memory of all producers of a measurement together.
  std::uint64_t max_memory_bytes;

  /// How many slots each of so many producers gets: as many as `bytes_per_producer` holds, 4 to 4096;
  /// fewer where the memory does not go round. Many small ones, so that batches can form.
  /// @return empty if there is not even room for two each
  [[nodiscard]] std::optional<std::uint32_t> slots_for(std::uint64_t slot_bytes,
                                                       std::uint32_t producer_count) const;

  /// A role that attaches to the daemon.
  [[nodiscard]] RoleOptions role(const std::string& name, std::uint64_t slot_bytes,
                                 std::uint32_t slot_count) const;

  /// Says that a measurement is left out as its producers need too much memory.
  void note_no_room(std::uint64_t slot_bytes, std::uint32_t producer_count) const;
};

/// Threads of an in-process loop that does what the daemon's host backend does, and of the peers'
/// workers: as many as it has workers by default, at least one.
[[nodiscard]] std::uint32_t worker_thread_count();

/// What this machine could do at best with slots of one size, and with filling producers.
class Ceiling {
 public:
  /// @param slot_count buffers of all producers together
  Ceiling(bool is_cuda, std::uint64_t slot_bytes, std::uint32_t slot_count);

  /// Input bytes a second, 10^9: of the link where there is a GPU, else of the same kernel in a loop
  /// over the first `slot_count` buffers.
  /// @throws std::runtime_error, Interrupted
  [[nodiscard]] double measure(std::uint32_t slot_count, std::chrono::milliseconds duration);
  /// Bytes a second, 10^9, that so many threads write into the buffers.
  [[nodiscard]] double measure_filling(std::uint32_t thread_count,
                                       std::chrono::milliseconds duration);

 private:
  bool is_cuda_;
  std::uint32_t slot_count_;
  std::uint64_t slot_bytes_;
  /// Made when it is first needed: a GPU's ceiling takes no host memory of that size.
  std::unique_ptr<HostCeiling> host_;

  HostCeiling& host();
};

/// Each adds its table to the report.
void measure_throughput(Bench& bench);
void measure_filling(Bench& bench);
void measure_latency(Bench& bench);
void measure_idle_channels(Bench& bench);
void measure_fairness(Bench& bench);
void measure_attach(Bench& bench);
void measure_message_peers(Bench& bench);
void measure_textbook(Bench& bench);
void measure_dataloader(Bench& bench);
void measure_kernels(Bench& bench);
void measure_idle(Bench& bench);

}  // namespace overlap::bench
