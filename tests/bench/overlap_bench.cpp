// overlap-bench: the ceiling of this machine and the daemon, in turns, in one run.

#include "daemon/device/link_ceiling.hpp"
#include "daemon/options.hpp"
#include "kernels/kernel_registry.hpp"
#include "shared/byte_size.hpp"
#include "shared/control_protocol.hpp"
#include "shared/control_socket.hpp"
#include "tests/bench/bench_producer.hpp"
#include "tests/bench/child_process.hpp"
#include "tests/bench/host_ceiling.hpp"

#include <boost/program_options.hpp>

#include <poll.h>
#include <unistd.h>
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace overlap::bench {
namespace {

using std::chrono::milliseconds;

/// The size at which the link carries most.
constexpr std::uint64_t kLinkCopyBytes = 16U << 20U;
constexpr milliseconds kAnswerLimit{60'000};

struct Settings {
  std::vector<std::uint64_t> slot_sizes;
  std::uint32_t producer_count = 4;
  std::uint64_t bytes_per_producer = 0;
  milliseconds round{};
  std::uint32_t round_count = 0;
  milliseconds idle{};
  std::string backend;
  std::vector<std::string> daemon_arguments;
};

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

/// A folder for the socket that goes with the run.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern =
        (std::filesystem::temp_directory_path() / "overlap-bench-XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr) {
      throw std::runtime_error("cannot make a temporary folder");
    }
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] std::string socket_path() const { return path_ + "/overlapd.sock"; }

 private:
  std::string path_;
};

StatusReply wait_for_daemon(const std::string& socket_path) {
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (std::chrono::steady_clock::now() < give_up) {
    int error_number = 0;
    const FileDescriptor socket = connect_control_socket(socket_path, error_number);
    const auto request = make_message<StatusRequest>(MessageType::status_request);
    pollfd readable{socket.get(), POLLIN, 0};
    if (socket && send_packet(socket, message_bytes(request)) && ::poll(&readable, 1, 1000) == 1) {
      const Packet packet = receive_packet(socket);
      if (const auto status = read_message<StatusReply>(packet.bytes, MessageType::status_reply)) {
        return *status;
      }
    }
    std::this_thread::sleep_for(milliseconds(20));
  }
  throw std::runtime_error("overlapd does not answer");
}

std::vector<ChildProcess> start_producers(const std::string& socket_path, const Settings& settings,
                                          std::uint64_t slot_bytes) {
  const std::uint64_t slots =
      std::clamp<std::uint64_t>(settings.bytes_per_producer / slot_bytes, 4, 1024);
  std::vector<ChildProcess> producers;
  for (std::uint32_t i = 0; i < settings.producer_count; ++i) {
    producers.emplace_back(std::vector<std::string>{
        program_path("overlap-bench"), "--role", "producer", "--socket", socket_path,
        "--slot-bytes", std::to_string(slot_bytes), "--slots", std::to_string(slots)});
  }
  for (ChildProcess& producer : producers) {
    const std::string line = producer.read_line(kAnswerLimit);
    if (line != "ready") {
      throw std::runtime_error("a producer says: " + line);
    }
  }
  return producers;
}

struct DaemonRate {
  double gigabytes_per_second = 0;
  double jobs_per_second = 0;
  double p50_us = 0;
  double p99_us = 0;
};

DaemonRate measure_daemon(std::vector<ChildProcess>& producers, std::uint64_t slot_bytes,
                          milliseconds duration) {
  for (ChildProcess& producer : producers) {
    producer.write_line("run " + std::to_string(duration.count()));
  }
  DaemonRate rate;
  for (ChildProcess& producer : producers) {
    const RoundOutcome outcome = RoundOutcome::from_line(producer.read_line(kAnswerLimit));
    rate.jobs_per_second += static_cast<double>(outcome.jobs) / outcome.seconds;
    rate.p50_us = std::max(rate.p50_us, outcome.p50_us);
    rate.p99_us = std::max(rate.p99_us, outcome.p99_us);
  }
  rate.gigabytes_per_second = rate.jobs_per_second * static_cast<double>(slot_bytes) * 1e-9;
  return rate;
}

/// Input bytes a second that the machine could do at best, 10^9.
class Ceiling {
 public:
  Ceiling(bool cuda, const Settings& settings, std::uint64_t slot_bytes)
      : pipeline_(Pipeline::parse("scale:a=2,b=1", registry())) {
    if (!cuda) {
      const std::uint64_t slots =
          std::clamp<std::uint64_t>(settings.bytes_per_producer / slot_bytes, 4, 1024);
      host_ = std::make_unique<HostCeiling>(
          pipeline_, slot_bytes, static_cast<std::uint32_t>(slots * settings.producer_count));
    }
  }

  double measure(milliseconds duration) {
    if (host_) {
      const std::uint32_t workers = default_worker_count(std::thread::hardware_concurrency());
      return host_->measure(std::max(1U, workers), duration);
    }
    const LinkProbe probe = measure_link(kLinkCopyBytes, duration);
    if (!probe.ceiling) {
      throw std::runtime_error(probe.why_not);
    }
    return probe.ceiling->each_way_of_both;
  }

 private:
  static const KernelRegistry& registry() {
    static const KernelRegistry kernels = KernelRegistry::with_builtin_kernels();
    return kernels;
  }

  Pipeline pipeline_;
  std::unique_ptr<HostCeiling> host_;
};

void measure_size(const Settings& settings, const std::string& socket_path, bool cuda,
                  std::uint64_t slot_bytes) {
  std::vector<ChildProcess> producers = start_producers(socket_path, settings, slot_bytes);
  Ceiling ceiling(cuda, settings, slot_bytes);
  static_cast<void>(measure_daemon(producers, slot_bytes, settings.round));
  std::vector<double> ceilings;
  std::vector<double> rates;
  std::vector<double> ratios;
  std::vector<double> jobs;
  std::vector<double> p50;
  std::vector<double> p99;
  for (std::uint32_t i = 0; i < settings.round_count; ++i) {
    const double best = ceiling.measure(settings.round);
    const DaemonRate rate = measure_daemon(producers, slot_bytes, settings.round);
    ceilings.push_back(best);
    rates.push_back(rate.gigabytes_per_second);
    ratios.push_back(rate.gigabytes_per_second / best);
    jobs.push_back(rate.jobs_per_second);
    p50.push_back(rate.p50_us);
    p99.push_back(rate.p99_us);
  }
  const auto [least, most] = std::minmax_element(ratios.begin(), ratios.end());
  std::printf("%10s %9u %12.2f %12.2f %6.1f %% (%.1f-%.1f) %12.0f %10.1f %10.1f\n",
              format_bytes(slot_bytes).c_str(), settings.producer_count, median(ceilings),
              median(rates), 100 * median(ratios), 100 * *least, 100 * *most, median(jobs),
              median(p50), median(p99));
  std::fflush(stdout);
}

void measure_idle(const Settings& settings, const std::string& socket_path, pid_t daemon) {
  Settings one = settings;
  one.producer_count = 1;
  std::vector<ChildProcess> producers = start_producers(socket_path, one, 1U << 20U);
  // Whatever the attach and the first polls cost is over before the clock starts.
  std::this_thread::sleep_for(milliseconds(500));
  const auto before = processor_time(daemon);
  std::this_thread::sleep_for(settings.idle);
  const double used = (processor_time(daemon) - before).count();
  const double seconds = std::chrono::duration<double>(settings.idle).count();
  std::printf("\nidle, one attached producer: %.2f %% of a core over %.0f s\n",
              100 * used / seconds, seconds);
}

int run(const Settings& settings) {
  const TemporaryFolder folder;
  std::vector<std::string> command{program_path("overlapd"),
                                   "--socket",
                                   folder.socket_path(),
                                   "--backend",
                                   settings.backend,
                                   "--log-level",
                                   "warning"};
  command.insert(command.end(), settings.daemon_arguments.begin(), settings.daemon_arguments.end());
  ChildProcess daemon(command);
  const StatusReply status = wait_for_daemon(folder.socket_path());
  const bool cuda = read_text(status.backend) == "cuda";
  std::printf(
      "backend %s, %s, %u hardware threads; scale on f32, in = out, resubmitting "
      "producers\nceiling: %s; %u rounds of %lld ms in turns, medians\n\n",
      std::string(read_text(status.backend)).c_str(), std::string(read_text(status.device)).c_str(),
      std::thread::hardware_concurrency(),
      cuda ? "copies of 16 MiB both ways at once, each way, in one process"
           : "the same kernel over as many buffers in one process",
      settings.round_count, static_cast<long long>(settings.round.count()));
  std::printf("%10s %9s %12s %12s %22s %12s %10s %10s\n", "slot", "producers", "ceiling GB/s",
              "daemon GB/s", "ratio (least-most)", "jobs/s", "p50 us", "p99 us");
  for (const std::uint64_t slot_bytes : settings.slot_sizes) {
    measure_size(settings, folder.socket_path(), cuda, slot_bytes);
  }
  if (settings.idle.count() > 0) {
    measure_idle(settings, folder.socket_path(), daemon.pid());
  }
  const int code = daemon.stop();
  if (code != 0) {
    std::fprintf(stderr, "overlap-bench: overlapd ended with %d\n", code);
    return 1;
  }
  return 0;
}

std::uint64_t read_size(const std::string& text) {
  const auto bytes = parse_byte_size(text);
  if (!bytes || *bytes == 0 || *bytes % sizeof(float) != 0) {
    throw std::runtime_error("'" + text + "' is no size in whole 4-byte elements");
  }
  return *bytes;
}

int run_command_line(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description options(
      "Usage: overlap-bench [options] [-- overlapd options]\n\nOptions");
  options.add_options()("help", "print this")(
      "slot-bytes",
      po::value<std::vector<std::string>>()->multitoken()->default_value({"1MiB", "16MiB"},
                                                                         "1MiB 16MiB"),
      "slot sizes to measure")("producers", po::value<std::uint32_t>()->default_value(4),
                               "producer processes")(
      "bytes-per-producer", po::value<std::string>()->default_value("64MiB"),
      "input bytes that a producer spreads its slots over, at least 4 slots")(
      "round-ms", po::value<std::uint32_t>()->default_value(500), "length of a round")(
      "rounds", po::value<std::uint32_t>()->default_value(7), "rounds of each size")(
      "idle-ms", po::value<std::uint32_t>()->default_value(5000), "idle measurement; 0 for none")(
      "backend", po::value<std::string>()->default_value("auto"), "auto, cuda or host")(
      "slots", po::value<std::uint32_t>()->default_value(8), "with --role producer")(
      "socket", po::value<std::string>()->default_value(""), "with --role producer")(
      "role", po::value<std::string>()->default_value("bench"),
      "bench, or producer: one of its own");
  // What stands behind -- belongs to overlapd.
  char** end = argv + argc;
  char** split =
      std::find_if(argv, end, [](const char* word) { return std::string(word) == "--"; });
  po::variables_map values;
  constexpr int kStyle =
      po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  po::store(po::command_line_parser(static_cast<int>(split - argv), argv)
                .options(options)
                .positional({})
                .style(kStyle)
                .run(),
            values);
  if (values.count("help") != 0) {
    std::cout << options;
    return 0;
  }
  std::vector<std::uint64_t> sizes;
  for (const std::string& text : values["slot-bytes"].as<std::vector<std::string>>()) {
    sizes.push_back(read_size(text));
  }
  if (values["role"].as<std::string>() == "producer") {
    return run_producer({.socket_path = values["socket"].as<std::string>(),
                         .slot_bytes = sizes.front(),
                         .slot_count = values["slots"].as<std::uint32_t>()});
  }
  Settings settings;
  settings.slot_sizes = sizes;
  settings.producer_count = std::max(1U, values["producers"].as<std::uint32_t>());
  settings.bytes_per_producer = read_size(values["bytes-per-producer"].as<std::string>());
  settings.round = milliseconds(values["round-ms"].as<std::uint32_t>());
  settings.round_count = std::max(1U, values["rounds"].as<std::uint32_t>());
  settings.idle = milliseconds(values["idle-ms"].as<std::uint32_t>());
  settings.backend = values["backend"].as<std::string>();
  settings.daemon_arguments.assign(split == end ? end : split + 1, end);
  return run(settings);
}

}  // namespace
}  // namespace overlap::bench

int main(int argc, char** argv) {
  try {
    return overlap::bench::run_command_line(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overlap-bench: %s\n", error.what());
    return 1;
  }
}
