// The vector add of copies and streams: in process, and fed to the daemon by one separate producer.
#include "tests/bench/bench.hpp"
#include "tests/bench/interruption.hpp"
#include "tests/bench/peer_textbook.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

namespace overlap::bench {
namespace {

using Kernel = TextbookProgram::Kernel;

/// Parts of the vectors are cut at whole pages.
constexpr std::uint64_t kSlotGrainBytes = 8U << 10U;

struct Variant {
  Kernel kernel;
  const char* name;
  std::vector<double> sequential{};
  /// For each stream count.
  std::vector<std::vector<double>> overlapped{};
};

double best_median(const Variant& variant) {
  double best = Spread::of(variant.sequential).median;
  for (const std::vector<double>& times : variant.overlapped) {
    best = std::min(best, Spread::of(times).median);
  }
  return best;
}

/// How many times faster, round by round.
Cell speed_up(const std::vector<double>& slow, const std::vector<double>& fast) {
  std::vector<double> ratios;
  for (std::size_t round = 0; round < slow.size(); ++round) {
    ratios.push_back(slow[round] / fast[round]);
  }
  return Spread::of(ratios);
}

Cell milliseconds(std::vector<double> seconds) {
  for (double& value : seconds) {
    value *= 1e3;
  }
  return Spread::of(seconds);
}

/// One producer process that holds as much of the vectors as there is memory for.
class FedDaemon {
 public:
  FedDaemon(const Bench& bench, std::uint64_t elements)
      : fleet_(1, role(bench, elements)),
        chunk_count_(elements * 2 * sizeof(float) / bench.options.textbook_slot_bytes) {}

  /// @return seconds
  double run() {
    const FleetOutcome outcome = fleet_.run(1, std::chrono::milliseconds(0));
    if (outcome.jobs != chunk_count_) {
      throw std::runtime_error("the producer had " + std::to_string(outcome.jobs) +
                               " results instead of " + std::to_string(chunk_count_));
    }
    return outcome.seconds;
  }

 private:
  static RoleOptions role(const Bench& bench, std::uint64_t elements) {
    const std::uint64_t slot_bytes = bench.options.textbook_slot_bytes;
    const std::uint64_t chunks = elements * 2 * sizeof(float) / slot_bytes;
    // The output is half as large as the input.
    const std::uint64_t room = bench.max_memory_bytes / (slot_bytes + slot_bytes / 2);
    RoleOptions role = bench.role("textbook", slot_bytes,
                                  static_cast<std::uint32_t>(std::clamp<std::uint64_t>(
                                      chunks, 1, std::max<std::uint64_t>(2, room))));
    role.work = Work::vector_add;
    role.repeat = bench.options.textbook_repeat;
    role.element_count = elements;
    return role;
  }

  ProcessFleet fleet_;
  std::uint64_t chunk_count_;
};

void add_rows(Bench& bench, ReportTable& table, const std::vector<Variant>& variants,
              const std::vector<double>& daemon) {
  for (const Variant& variant : variants) {
    bench.report.add_row(table, {std::string("in process, ") + variant.name + ", sequential",
                                 Cell(), milliseconds(variant.sequential), Cell(), Cell()});
    for (std::size_t i = 0; i < variant.overlapped.size(); ++i) {
      bench.report.add_row(table,
                           {std::string("in process, ") + variant.name + ", overlapped",
                            bench.options.textbook_streams[i], milliseconds(variant.overlapped[i]),
                            speed_up(variant.sequential, variant.overlapped[i]), Cell()});
    }
  }
  for (const Variant& variant : variants) {
    bench.report.add_row(table, {std::string("overlapd, against the ") + variant.name, Cell(),
                                 milliseconds(daemon), speed_up(variant.sequential, daemon),
                                 best_median(variant) / Spread::of(daemon).median});
  }
  if (variants.empty()) {
    bench.report.add_row(table, {"overlapd", Cell(), milliseconds(daemon), Cell(), Cell()});
  }
}

}  // namespace

void measure_textbook(Bench& bench) {
  const BenchOptions& options = bench.options;
  if (options.textbook_slot_bytes % kSlotGrainBytes != 0) {
    throw std::runtime_error("--textbook-slot-bytes has to be a multiple of 8KiB");
  }
  const std::uint64_t chunk_elements = options.textbook_slot_bytes / (2 * sizeof(float));
  const std::uint64_t elements =
      std::max<std::uint64_t>(1, options.textbook_elements / chunk_elements) * chunk_elements;
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "textbook",
      "Vector add of " + std::to_string(elements) + " elements, " +
          std::to_string(options.textbook_repeat) +
          " passes: the program of copies and streams in process, and overlapd (vector_add) fed by "
          "one other process",
      {{"who", "who                                         ", Form::text},
       {"streams", "streams", Form::number, 0},
       {"milliseconds", "ms (least-most)", Form::number, 1, true},
       {"over_sequential", "x sequential", Form::number, 3, true},
       {"over_best_overlapped", "x best overlapped", Form::number, 3}});
  const TextbookOrReason textbook =
      bench.daemon.is_cuda()
          ? make_textbook_program(elements, options.textbook_repeat)
          : TextbookOrReason{nullptr, "left out: the textbook program in process: no GPU is used"};
  std::vector<Variant> variants;
  if (textbook.program) {
    variants = {{Kernel::plain, "plain kernel"}, {Kernel::daemons, "daemon's kernel"}};
    for (Variant& variant : variants) {
      variant.overlapped.resize(options.textbook_streams.size());
    }
  } else {
    bench.report.add_note(textbook.why_not);
  }
  FedDaemon daemon(bench, elements);
  static_cast<void>(daemon.run());
  std::vector<double> fed;
  for (std::uint32_t round = 0; round < options.round_count; ++round) {
    for (Variant& variant : variants) {
      throw_if_interrupted();
      variant.sequential.push_back(textbook.program->run_sequential(variant.kernel));
      for (std::size_t i = 0; i < variant.overlapped.size(); ++i) {
        throw_if_interrupted();
        variant.overlapped[i].push_back(
            textbook.program->run_overlapped(variant.kernel, options.textbook_streams[i]));
      }
    }
    fed.push_back(daemon.run());
  }
  add_rows(bench, table, variants, fed);
}

}  // namespace overlap::bench
