// What a daemon costs that has nothing to do.
#include "tests/bench/bench.hpp"
#include "tests/bench/interruption.hpp"

#include <algorithm>
#include <thread>

namespace overlap::bench {
namespace {

void sleep_unless_interrupted(std::chrono::milliseconds duration) {
  const auto end = std::chrono::steady_clock::now() + duration;
  while (std::chrono::steady_clock::now() < end) {
    throw_if_interrupted();
    std::this_thread::sleep_for(std::min<std::chrono::nanoseconds>(
        std::chrono::milliseconds(50), end - std::chrono::steady_clock::now()));
  }
}

}  // namespace

void measure_idle(Bench& bench) {
  if (bench.options.idle.count() == 0) {
    return;
  }
  using Form = Column::Form;
  ReportTable& table = bench.report.begin_table(
      "idle", "Processor time of an idle daemon with one idle producer",
      {{"share_of_a_core", "of a core", Form::share, 3}, {"seconds", "seconds", Form::number, 1}});
  const ProcessFleet producer(1, bench.role("producer", 1U << 20U, 4));
  // Whatever the attach and the first polls cost is over before the clock starts.
  sleep_unless_interrupted(std::chrono::milliseconds(500));
  const auto before = processor_time(bench.daemon.pid());
  sleep_unless_interrupted(bench.options.idle);
  const double used = (processor_time(bench.daemon.pid()) - before).count();
  const double seconds = std::chrono::duration<double>(bench.options.idle).count();
  bench.report.add_row(table, {used / seconds, seconds});
}

}  // namespace overlap::bench
