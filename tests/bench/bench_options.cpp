#include "tests/bench/bench_options.hpp"

#include "shared/byte_size.hpp"
#include "tests/bench/report_json.hpp"

#include <boost/program_options.hpp>

#include <algorithm>
#include <ostream>
#include <stdexcept>

namespace overlap::bench {
namespace {

namespace po = boost::program_options;
using Words = std::vector<std::string>;
using Counts = std::vector<std::uint32_t>;

constexpr unsigned kHelpColumns = 100;

po::typed_value<std::string>* text(const char* value) {
  return po::value<std::string>()->default_value(value)->value_name("TEXT");
}

po::typed_value<Words>* words(const Words& values) {
  std::string shown;
  for (const std::string& word : values) {
    shown += (shown.empty() ? "" : " ") + word;
  }
  return po::value<Words>()->multitoken()->default_value(values, shown)->value_name("...");
}

po::typed_value<Counts>* counts(const Counts& values) {
  std::string shown;
  for (const std::uint32_t count : values) {
    shown += (shown.empty() ? "" : " ") + std::to_string(count);
  }
  return po::value<Counts>()->multitoken()->default_value(values, shown)->value_name("...");
}

po::typed_value<std::uint32_t>* number(std::uint32_t value) {
  return po::value<std::uint32_t>()->default_value(value)->value_name("N");
}

/// `--quick` is other defaults: whatever is named all the same is as named.
po::options_description description(bool quick) {
  po::options_description options("Options", kHelpColumns);
  auto add = options.add_options();
  add("help", "print this");
  add("quick", "a short try: fewer sizes and rounds, smaller amounts");
  add("scenarios", po::value<Words>()->multitoken()->value_name("..."),
      "what to measure, by commas or spaces, or 'all'; see below");
  add("slot-bytes",
      words(quick ? Words{"4KiB", "64KiB", "1MiB"}
                  : Words{"64", "256", "1KiB", "4KiB", "16KiB", "64KiB", "256KiB", "1MiB", "4MiB",
                          "16MiB", "64MiB"}),
      "slot sizes");
  add("producers", counts({4}), "producer processes; the first count is the one of the peers");
  add("bytes-per-producer", text("64MiB"),
      "input bytes that a producer spreads its slots over: 4 to 4096 slots");
  add("max-memory", text(""),
      "channel memory of all producers of a measurement; default: a sixth of what is free, at most "
      "12GiB");
  add("round-ms", number(quick ? 100 : 500), "length of a round");
  add("rounds", number(quick ? 3 : 7), "rounds of each measurement, in turns");
  add("idle-ms", number(quick ? 1000 : 5000), "idle measurement; 0 for none");
  add("latency-bytes", words({"4KiB"}), "sizes of the scenario 'latency'");
  add("idle-channels", number(quick ? 50 : 1000), "of the scenario of that name");
  add("attach-bytes", text(quick ? "64MiB" : "1GiB"), "channel memory that comes and goes");
  add("greedy-bytes", text(quick ? "4MiB" : "64MiB"), "slots of the greedy producer");
  add("long-ms", number(quick ? 20 : 200), "what a long kernel takes (vector_add, repeated)");
  add("textbook-elements", text(quick ? "4M" : "256M"), "of the vectors, K, M, G as in sizes");
  add("textbook-repeat", number(50), "passes of the textbook's kernel");
  add("textbook-slot-bytes", text(quick ? "1MiB" : "16MiB"), "input bytes of a slot");
  add("textbook-streams", counts({1, 2, 4, 8, 16, 32, 64, 128}), "streams of the textbook program");
  add("dataloader-bytes", words({"4KiB", "1MiB"}), "payloads of the DataLoader");
  add("dataloader-batch", counts({1, 64}), "payloads that it collates into one transfer");
  add("dataloader-workers", number(4), "its worker processes");
  add("python", text("python3"), "the interpreter that has torch");
  add("kernel-ms", number(20), "how long a kernel is repeated in a round of 'kernels'");
  add("only", po::value<Words>()->multitoken()->value_name("..."),
      "of 'kernels', only those of these names");
  add("backend", text("auto"), "auto, cuda or host");
  add("json", po::value<std::string>()->value_name("FILE"), "write everything there");
  add("svg", po::value<std::string>()->value_name("FILE"), "write a plot there");
  return options;
}

std::uint64_t read_bytes(const std::string& name, const std::string& word) {
  try {
    return read_size(word);
  } catch (const std::exception& error) {
    throw std::runtime_error("--" + name + ": " + error.what());
  }
}

std::uint32_t at_least_one(const po::variables_map& values, const std::string& name) {
  const auto count = values[name].as<std::uint32_t>();
  if (count == 0) {
    throw std::runtime_error("--" + name + " has to be at least 1");
  }
  return count;
}

Counts read_counts(const po::variables_map& values, const std::string& name, std::uint32_t most) {
  const auto& result = values[name].as<Counts>();
  for (const std::uint32_t count : result) {
    if (count == 0 || count > most) {
      throw std::runtime_error("--" + name + ": " + std::to_string(count) + " is not within 1 to " +
                               std::to_string(most));
    }
  }
  return result;
}

std::vector<std::uint64_t> read_sizes(const po::variables_map& values, const std::string& name) {
  std::vector<std::uint64_t> sizes;
  for (const std::string& word : values[name].as<Words>()) {
    sizes.push_back(read_bytes(name, word));
  }
  return sizes;
}

Words read_scenarios(const po::variables_map& values) {
  Words result;
  if (values.count("scenarios") == 0) {
    for (const ScenarioName& scenario : scenario_names()) {
      if (scenario.by_default) {
        result.emplace_back(scenario.name);
      }
    }
    return result;
  }
  for (const std::string& list : values["scenarios"].as<Words>()) {
    std::size_t begin = 0;
    while (begin <= list.size()) {
      const std::size_t end = std::min(list.find(',', begin), list.size());
      const std::string name = list.substr(begin, end - begin);
      begin = end + 1;
      bool known = false;
      for (const ScenarioName& scenario : scenario_names()) {
        if (name == scenario.name || name == "all") {
          result.emplace_back(scenario.name);
          known = true;
        }
      }
      if (!known) {
        throw std::runtime_error("--scenarios: there is no '" + name + "'; see --help");
      }
    }
  }
  return result;
}

po::variables_map parse(const Words& words_of_ours, bool quick) {
  constexpr int kStyle =
      po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  po::variables_map values;
  po::store(po::command_line_parser(words_of_ours)
                .options(description(quick))
                .positional({})
                .style(kStyle)
                .run(),
            values);
  return values;
}

}  // namespace

const std::vector<ScenarioName>& scenario_names() {
  static const std::vector<ScenarioName> names = {
      {"throughput", "ceiling and daemon, every size and producer count", true},
      {"filling", "producers that write every byte beside resubmitting ones", false},
      {"latency", "one job at a time: polling, waiting, a bare semaphore ping-pong", true},
      {"idle-channels", "throughput with many idle channels attached, and without", false},
      {"fairness", "a small producer alone, beside a greedy one, beside long kernels", false},
      {"attach", "a steady producer while memory is attached and detached", false},
      {"messages", "ZeroMQ ipc and message_queue, from 4 KiB up", false},
      {"textbook", "the vector add of copies and streams, in process and fed by a producer", false},
      {"dataloader", "a PyTorch DataLoader with workers and pinned memory", false},
      {"kernels", "every kernel alone, against a plain copy of as many bytes", false},
      {"idle", "processor time of an idle daemon", true},
  };
  return names;
}

bool BenchOptions::wants(const std::string& scenario) const {
  return std::find(scenarios.begin(), scenarios.end(), scenario) != scenarios.end();
}

std::uint64_t read_size(const std::string& text) {
  const auto bytes = parse_byte_size(text);
  if (!bytes || *bytes == 0 || *bytes % sizeof(float) != 0) {
    throw std::runtime_error("'" + text + "' is no size in whole 4-byte elements");
  }
  return *bytes;
}

BenchOptions read_bench_options(const std::vector<std::string>& arguments) {
  const auto split = std::find(arguments.begin(), arguments.end(), "--");
  const Words ours(arguments.begin(), split);
  po::variables_map values = parse(ours, false);
  if (values.count("quick") != 0) {
    values = parse(ours, true);
  }
  BenchOptions options;
  options.help = values.count("help") != 0;
  options.scenarios = read_scenarios(values);
  options.slot_sizes = read_sizes(values, "slot-bytes");
  options.producer_counts = read_counts(values, "producers", 1024);
  options.bytes_per_producer =
      read_bytes("bytes-per-producer", values["bytes-per-producer"].as<std::string>());
  if (const auto& most = values["max-memory"].as<std::string>(); !most.empty()) {
    options.max_memory_bytes = read_bytes("max-memory", most);
  }
  options.round = std::chrono::milliseconds(at_least_one(values, "round-ms"));
  options.round_count = at_least_one(values, "rounds");
  options.idle = std::chrono::milliseconds(values["idle-ms"].as<std::uint32_t>());
  options.latency_sizes = read_sizes(values, "latency-bytes");
  options.idle_channel_count = at_least_one(values, "idle-channels");
  options.attach_bytes = read_bytes("attach-bytes", values["attach-bytes"].as<std::string>());
  options.greedy_slot_bytes = read_bytes("greedy-bytes", values["greedy-bytes"].as<std::string>());
  options.long_kernel = std::chrono::milliseconds(at_least_one(values, "long-ms"));
  options.textbook_elements =
      read_bytes("textbook-elements", values["textbook-elements"].as<std::string>());
  options.textbook_repeat = at_least_one(values, "textbook-repeat");
  options.textbook_slot_bytes =
      read_bytes("textbook-slot-bytes", values["textbook-slot-bytes"].as<std::string>());
  options.textbook_streams = read_counts(values, "textbook-streams", 1024);
  options.dataloader_sizes = read_sizes(values, "dataloader-bytes");
  options.dataloader_batches = read_counts(values, "dataloader-batch", 65536);
  options.dataloader_workers = at_least_one(values, "dataloader-workers");
  options.python = values["python"].as<std::string>();
  options.kernel_round = std::chrono::milliseconds(at_least_one(values, "kernel-ms"));
  if (values.count("only") != 0) {
    options.only_kernels = values["only"].as<Words>();
    if (!options.wants("kernels")) {
      throw std::runtime_error("--only: it chooses among the kernels of the scenario 'kernels'");
    }
  }
  options.backend = values["backend"].as<std::string>();
  if (options.backend != "auto" && options.backend != "cuda" && options.backend != "host") {
    throw std::runtime_error("--backend: '" + options.backend + "' is not auto, cuda or host");
  }
  if (values.count("json") != 0) {
    options.json_file = values["json"].as<std::string>();
    if (!can_write_json()) {
      throw std::runtime_error("--json: this program was built without nlohmann-json3-dev");
    }
  }
  if (values.count("svg") != 0) {
    options.svg_file = values["svg"].as<std::string>();
    if (!options.wants("throughput")) {
      throw std::runtime_error("--svg: the plot needs the scenario 'throughput'");
    }
  }
  options.daemon_arguments.assign(split == arguments.end() ? split : split + 1, arguments.end());
  return options;
}

void print_bench_help(std::ostream& out) {
  out << "Usage: overlap-bench [options] [-- overlapd options]\n\n"
      << description(false) << "\nScenarios (* unless others are named)\n";
  for (const ScenarioName& scenario : scenario_names()) {
    std::string name = std::string(scenario.by_default ? "* " : "  ") + scenario.name;
    name.resize(18, ' ');
    out << name << scenario.summary << '\n';
  }
}

}  // namespace overlap::bench
