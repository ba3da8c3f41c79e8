// Every kernel alone, against a plain copy that moves as many bytes.
#include "daemon/plugin_start.hpp"
#include "kernels/plugin_library.hpp"
#include "tests/bench/bench.hpp"
#include "tests/bench/interruption.hpp"
#include "tests/bench/kernel_workloads.hpp"
#include "tests/bench/measured_workload.hpp"

#include <algorithm>
#include <stdexcept>

namespace overlap::bench {
namespace {

std::vector<Column> columns() {
  using Form = Column::Form;
  return {
      {"kernel", "kernel                      ", Form::text},
      {"jobs", "jobs", Form::number, 0},
      {"job_bytes", "   input of one", Form::bytes},
      {"moved_megabytes_per_batch", "MB a batch", Form::number, 1},
      {"microseconds_per_batch", "us a batch", Form::number, 1},
      {"gigabytes_per_second", "    GB/s"},
      {"copy_gigabytes_per_second", "copy GB/s"},
      {"share_of_copy", "of the copy (least-most)", Form::share, 1, true},
      {"share_of_library", "of cuFFT, cuBLAS", Form::share, 1, true},
      {"pipeline", "as a pipeline", Form::text},
  };
}

KernelRegistry kernels_to_measure(Report& report) {
  KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
  const auto folder = own_plugin_folder();
  if (!folder) {
    report.add_note("left out: plug-ins: there is no folder of them beside overlap-bench");
    return kernels;
  }
  for (const RefusedKernels& refused : load_plugins(*folder, kernels).refused) {
    report.add_note("left out: " + refused.file + ": " + refused.reason);
  }
  return kernels;
}

bool is_wanted(const BenchOptions& options, std::string_view kernel) {
  return options.only_kernels.empty() ||
         std::ranges::find(options.only_kernels, kernel) != options.only_kernels.end();
}

void check_names(const BenchOptions& options) {
  for (const std::string& name : options.only_kernels) {
    if (std::ranges::find(kernel_workloads(), name, &KernelWorkload::kernel) ==
        kernel_workloads().end()) {
      throw std::runtime_error("--only: no kernel '" + name + "' is measured; name others");
    }
  }
}

struct Rounds {
  std::vector<double> microseconds;
  std::vector<double> rates;
  std::vector<double> copy_rates;
  std::vector<double> shares;
  std::vector<double> library_shares;
};

/// Kernel, copy and library in turns.
Rounds measure_rounds(const BenchOptions& options, MeasuredWorkload& workload,
                      std::uint64_t moved_bytes) {
  Rounds rounds;
  for (std::uint32_t round = 0; round < options.round_count; ++round) {
    const double kernel = workload.kernel_seconds(options.kernel_round);
    const double copy = workload.copy_seconds(options.kernel_round);
    const auto moved = static_cast<double>(moved_bytes);
    rounds.microseconds.push_back(kernel * 1e6);
    rounds.rates.push_back(moved / kernel * 1e-9);
    rounds.copy_rates.push_back(moved / copy * 1e-9);
    rounds.shares.push_back(copy / kernel);
    if (const auto library = workload.library_seconds(options.kernel_round)) {
      rounds.library_shares.push_back(*library / kernel);
    }
  }
  return rounds;
}

void measure_workload(Bench& bench, ReportTable& table, const KernelRegistry& kernels,
                      const KernelWorkload& workload, const BatchShape& shape) {
  const bool is_large = shape.most_job_bytes == kLargeBatch.most_job_bytes;
  const bool on_gpu = bench.daemon.is_cuda();
  const Pipeline pipeline = Pipeline::parse(is_large ? workload.large : workload.small, kernels);
  const WorkloadParts parts{
      pipeline.stages().front(),
      layout_of(pipeline, shape.most_job_bytes, on_gpu ? shape.gpu_jobs : shape.host_jobs,
                workload.jobs_per_output),
      workload.data};
  // Of large jobs one is enough to be held against the host's, which takes its time.
  WorkloadOrReason made = on_gpu ? make_cuda_workload(parts, is_large ? 1 : parts.layout.job_count)
                                 : make_host_workload(parts);
  if (!made.workload) {
    bench.report.add_note("left out: " + pipeline.text() + ": " + made.why_not);
    return;
  }
  const Rounds rounds = measure_rounds(bench.options, *made.workload, parts.layout.moved_bytes());
  bench.report.add_row(
      table,
      {std::string(workload.label), parts.layout.job_count, parts.layout.input_bytes,
       static_cast<double>(parts.layout.moved_bytes()) * 1e-6, Spread::of(rounds.microseconds),
       Spread::of(rounds.rates), Spread::of(rounds.copy_rates), Spread::of(rounds.shares),
       rounds.library_shares.empty() ? Cell() : Cell(Spread::of(rounds.library_shares)),
       pipeline.text()});
}

}  // namespace

void measure_kernels(Bench& bench) {
  check_names(bench.options);
  const KernelRegistry kernels = kernels_to_measure(bench.report);
  bench.report.add_note(
      "left out: spin, fault: the one takes the time that it is told, the other fails on purpose");
  ReportTable& table = bench.report.begin_table(
      "kernels",
      std::string(bench.daemon.is_cuda()
                      ? "Each kernel alone on the GPU, batches in device memory, "
                        "against a copy within the device"
                      : "Each kernel alone on the host, one thread, against "
                        "memcpy") +
          "; bytes read and written both count; rounds of " +
          std::to_string(bench.options.kernel_round.count()) + " ms",
      columns());
  std::uint32_t failed = 0;
  for (const KernelWorkload& workload : kernel_workloads()) {
    if (!is_wanted(bench.options, workload.kernel())) {
      continue;
    }
    if (kernels.find(workload.kernel()) == nullptr) {
      bench.report.add_note("left out: " + std::string(workload.label) +
                            ": there is no such kernel");
      continue;
    }
    for (const BatchShape& shape : {kLargeBatch, kSmallBatch}) {
      try {
        measure_workload(bench, table, kernels, workload, shape);
      } catch (const Interrupted&) {
        throw;
      } catch (const std::exception& error) {
        // The other kernels' figures are still worth having.
        bench.report.add_note("failed: " + std::string(workload.label) + ": " + error.what());
        ++failed;
      }
    }
  }
  if (failed != 0) {
    throw std::runtime_error(std::to_string(failed) + " measurements failed");
  }
}

}  // namespace overlap::bench
