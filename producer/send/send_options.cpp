#include "producer/send/send_options.hpp"

#include "shared/byte_size.hpp"
#include "shared/channel_layout.hpp"
#include "shared/duration_text.hpp"

#include <boost/program_options.hpp>

#include <charconv>
#include <sstream>
#include <string_view>
#include <vector>

namespace overlap {
namespace {

namespace po = boost::program_options;

constexpr std::string_view kExitCodes =
    "Exit codes:\n"
    "  0    every job was done, and right if --verify was given\n"
    "  1    a job failed or its result was wrong\n"
    "  2    wrong options, or an input whose length does not fit the kernel\n"
    "  3    no daemon, or it refused, or it went and none came back\n"
    "  4    the input cannot be read or the output cannot be written\n"
    "  130  stopped by SIGINT, 143 by SIGTERM; what was under way was finished and written\n";

// Every value is taken as text and read strictly: the library would take -1 for a huge number.
po::options_description describe() {
  po::options_description options("Options");
  auto add = options.add_options();
  add("help", "this text");
  add("socket", po::value<std::string>(),
      "the daemon's socket (default: $OVERLAPD_SOCKET, $XDG_RUNTIME_DIR/overlapd.sock if it "
      "exists, /run/overlapd/overlapd.sock)");
  add("kernel", po::value<std::string>(), "what to run, for example scale:a=2,b=1 (required)");
  add("table", po::value<std::vector<std::string>>(),
      "STAGE=FILE: the bytes of a kernel's table; the pipeline's stages are counted from 1. Once "
      "for "
      "every stage that needs one");
  add("input", po::value<std::string>(), "FILE, - for standard input, or pattern (default)");
  add("input-bytes", po::value<std::string>(), "length of the pattern");
  add("slot-bytes", po::value<std::string>(),
      "bytes of one job (default 1MiB); rounded down to what the kernel takes");
  add("slots", po::value<std::string>(), "jobs under way at a time (default 8)");
  add("count", po::value<std::string>(),
      "pattern: jobs of slot-bytes; FILE: how often all of it is sent (default 1)");
  add("output", po::value<std::string>(), "FILE or -: results in the order of the input");
  add("verify", "recompute every result with the kernel's reference");
  add("json", "summary as JSON");
  add("resume-timeout", po::value<std::string>(),
      "how long to wait for another daemon when this one goes (default 30s)");
  add("quiet", "no progress, no summary");
  return options;
}

std::uint64_t read_number(std::string_view name, std::string_view text, std::uint64_t minimum,
                          std::uint64_t maximum) {
  std::uint64_t value = 0;
  const char* const end = text.data() + text.size();
  const auto [rest, error] = std::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || value < minimum || value > maximum) {
    throw UsageError("--" + std::string(name) + ": '" + std::string(text) +
                     "' is not a whole number from " + std::to_string(minimum) + " to " +
                     std::to_string(maximum));
  }
  return value;
}

std::uint64_t read_size(std::string_view name, std::string_view text, std::uint64_t minimum) {
  const auto value = parse_byte_size(text);
  if (!value || *value < minimum) {
    throw UsageError("--" + std::string(name) + ": '" + std::string(text) +
                     "' is not a size of at least " + std::to_string(minimum) +
                     " bytes; write 4096, 64KiB, 1MiB, 1GiB");
  }
  return *value;
}

TableFile read_table(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals + 1 == text.size()) {
    throw UsageError("--table: '" + text +
                     "' is not STAGE=FILE; write --table 1=taps.f32 for the first stage");
  }
  const std::uint64_t stage =
      read_number("table", std::string_view(text).substr(0, equals), 1, 256);
  return {static_cast<std::uint8_t>(stage - 1), text.substr(equals + 1)};
}

po::variables_map parse(std::span<const std::string> words) {
  namespace style = po::command_line_style;
  const po::options_description options = describe();
  try {
    // By default --slot would be taken for --slots, and a single dash for two.
    const po::parsed_options parsed =
        po::command_line_parser(std::vector<std::string>(words.begin(), words.end()))
            .options(options)
            .style(style::allow_long | style::long_allow_adjacent | style::long_allow_next)
            .run();
    for (const auto& option : parsed.options) {
      if (option.position_key != -1) {
        throw UsageError("'" + option.value.at(0) + "' belongs to no option; see --help");
      }
      // The library lets a value swallow the option that follows it.
      for (const std::string& value : option.value) {
        if (value.empty() || (value.size() > 1 && value.front() == '-')) {
          throw UsageError("--" + option.string_key + " has no value, but '" + value +
                           "'; for a file whose name begins with a dash write ./" + value);
        }
      }
    }
    po::variables_map values;
    po::store(parsed, values);
    return values;
  } catch (const po::error& error) {
    throw UsageError(std::string(error.what()) + "; see --help");
  }
}

void check_together(const SendOptions& options, const po::variables_map& values) {
  if (options.kernel.empty()) {
    throw UsageError("--kernel is missing: say what to run, for example --kernel scale:a=2,b=1");
  }
  if (options.input_bytes && !options.reads_pattern()) {
    throw UsageError("--input-bytes is the length of a pattern; a file or pipe has its own");
  }
  if (options.input_bytes && values.count("count") != 0) {
    throw UsageError("--input-bytes and --count both say how long the pattern is; give one");
  }
  if (options.input == "-" && options.count != 1) {
    throw UsageError("--count: standard input can be read only once");
  }
  if (options.json && options.output == "-") {
    throw UsageError("--json and --output - both want standard output; write one to a file");
  }
#if !OVERLAP_HAVE_JSON
  if (options.json) {
    throw UsageError("--json: this build has no JSON; build with nlohmann-json (OVERLAP_JSON=ON)");
  }
#endif
}

}  // namespace

SendOptions read_send_options(std::span<const std::string> words) {
  const po::variables_map values = parse(words);
  const auto text = [&](const char* name) -> std::optional<std::string> {
    return values.count(name) != 0 ? std::optional(values[name].as<std::string>()) : std::nullopt;
  };
  SendOptions options;
  options.help = values.count("help") != 0;
  if (options.help) {
    return options;
  }
  options.socket_path = text("socket");
  options.kernel = text("kernel").value_or("");
  if (values.count("table") != 0) {
    for (const std::string& table : values["table"].as<std::vector<std::string>>()) {
      options.tables.push_back(read_table(table));
    }
  }
  options.input = text("input").value_or(options.input);
  options.output = text("output");
  options.verify = values.count("verify") != 0;
  options.json = values.count("json") != 0;
  options.quiet = values.count("quiet") != 0;
  if (const auto value = text("input-bytes")) {
    options.input_bytes = read_size("input-bytes", *value, 0);
  }
  if (const auto value = text("slot-bytes")) {
    options.slot_bytes = read_size("slot-bytes", *value, 1);
  }
  if (const auto value = text("slots")) {
    options.slot_count = static_cast<std::uint32_t>(read_number("slots", *value, 1, kMaxSlotCount));
  }
  if (const auto value = text("count")) {
    options.count = read_number("count", *value, 1, UINT64_MAX);
  }
  if (const auto value = text("resume-timeout")) {
    const auto duration = parse_duration(*value);
    if (!duration) {
      throw UsageError("--resume-timeout: '" + *value + "' is not a duration; write 500ms or 30s");
    }
    options.resume_timeout = std::chrono::duration_cast<std::chrono::milliseconds>(*duration);
  }
  check_together(options, values);
  return options;
}

std::string send_help() {
  std::ostringstream text;
  text << "Usage: overlap-send --kernel SPEC [options]\n"
          "Feeds a file, standard input or a generated pattern to overlapd.\n\n"
       << describe() << '\n'
       << kExitCodes
       << "\nThe pattern: the i-th little-endian float32 of the whole input is\n"
          "((i * 2654435761) mod 2^32 >> 8) * 2^-8.\n";
  return text.str();
}

}  // namespace overlap
