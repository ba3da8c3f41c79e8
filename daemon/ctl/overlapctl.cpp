// overlapctl: asks a running daemon how it is, and what it can do.

#include "daemon/ctl/daemon_questions.hpp"
#include "daemon/ctl/kernel_report.hpp"
#include "shared/byte_size.hpp"
#include "shared/control_protocol.hpp"
#include "shared/control_socket.hpp"
#include "shared/socket_path.hpp"

#include <boost/program_options.hpp>

#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>
#include <vector>

namespace overlap {
namespace {

constexpr int kUsage = 2;
constexpr int kNoDaemon = 3;
constexpr int kNoKernel = 4;

void print(const StatusReply& status) {
  const auto line = [](const char* name, const std::string& value) {
    std::printf("%-16s %s\n", name, value.c_str());
  };
  line("version", std::string(read_text(status.version)));
  line("pid", std::to_string(status.pid));
  line("uptime", std::to_string(status.uptime_ns / 1'000'000'000) + " s");
  const std::string why(read_text(status.backend_note));
  line("backend", std::string(read_text(status.backend)) + (why.empty() ? "" : " (" + why + ")"));
  line("device", std::string(read_text(status.device)));
  line("channels", std::to_string(status.channel_count));
  line("memory", format_bytes(status.pinned_bytes));
  line("jobs done", std::to_string(status.jobs_done));
  line("jobs failed", std::to_string(status.jobs_failed));
  line("jobs retried", std::to_string(status.jobs_retried));
  line("input", format_bytes(status.input_bytes_done));
  line("output", format_bytes(status.output_bytes_done));
  line("batches", std::to_string(status.batches));
  line("of them mapped", std::to_string(status.batches_mapped));
  line("of them gathered", std::to_string(status.batches_gathered));
  line("producer wakes", std::to_string(status.producer_wakes));
  line("engine sleeps", std::to_string(status.engine_sleeps));
}

/// Connects and asks; says what is wrong if there is no answer.
/// @return what `ask` gave, or empty
template <class Ask>
auto ask_daemon(const std::optional<std::string>& option, Ask ask) {
  const ClientSocketPath path = client_socket_path(option, SocketEnvironment::of_this_process());
  int error_number = 0;
  const FileDescriptor socket = connect_control_socket(path.path, error_number);
  decltype(ask(socket)) answer;
  if (!socket) {
    std::fprintf(stderr,
                 "overlapctl: no daemon: %s (looked at %s); start overlapd or name its socket with "
                 "--socket\n",
                 std::strerror(error_number), list_tried(path).c_str());
    return answer;
  }
  answer = ask(socket);
  if (!answer) {
    std::fprintf(stderr, "overlapctl: %s does not answer as overlapd %s does\n", path.path.c_str(),
                 OVERLAP_VERSION);
  }
  return answer;
}

int show_status(const std::optional<std::string>& socket) {
  const auto reply = ask_daemon(socket, ask_status);
  if (!reply) {
    return kNoDaemon;
  }
  print(*reply);
  return 0;
}

/// @param name of the only kernel to show; empty: all of them, and the refused files
int show_kernels(const std::optional<std::string>& socket, const std::string& name, bool as_json) {
  auto kernels = ask_daemon(socket, ask_kernels);
  if (!kernels) {
    return kNoDaemon;
  }
  if (!name.empty()) {
    std::erase_if(*kernels, [&name](const ListedKernel& kernel) { return kernel.name != name; });
    if (kernels->empty()) {
      std::fprintf(stderr,
                   "overlapctl: the daemon has no kernel '%s'; `overlapctl kernels` lists those "
                   "that it has\n",
                   name.c_str());
      return kNoKernel;
    }
  }
  std::fputs((as_json ? kernel_report_json(*kernels) : kernel_report(*kernels)).c_str(), stdout);
  return 0;
}

int run(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description visible(
      "Usage: overlapctl [--socket PATH] status\n"
      "       overlapctl [--socket PATH] kernels [NAME] [--json]\n\nOptions");
  visible.add_options()("help", "print this")("version", "print the version")(
      "socket", po::value<std::string>()->value_name("PATH"), "the daemon's control socket")(
      "json", "kernels: as JSON");
  po::options_description all;
  all.add(visible).add_options()("command", po::value<std::string>()->default_value(""))(
      "name", po::value<std::string>()->default_value(""));
  po::positional_options_description positional;
  positional.add("command", 1).add("name", 1);
  po::variables_map values;
  constexpr int kStyle =
      po::command_line_style::default_style & ~po::command_line_style::allow_guessing;
  po::store(
      po::command_line_parser(argc, argv).options(all).positional(positional).style(kStyle).run(),
      values);
  if (values.count("help") != 0) {
    std::cout << visible;
    return 0;
  }
  if (values.count("version") != 0) {
    std::puts("overlapctl " OVERLAP_VERSION);
    return 0;
  }
  const auto socket = values.count("socket") != 0
                          ? std::optional(values["socket"].as<std::string>())
                          : std::nullopt;
  const auto command = values["command"].as<std::string>();
  const auto name = values["name"].as<std::string>();
  const bool as_json = values.count("json") != 0;
  if (as_json && OVERLAP_HAVE_JSON == 0) {
    std::cerr << "overlapctl: --json: this build has no JSON; build with nlohmann-json "
                 "(OVERLAP_JSON=ON)\n";
    return kUsage;
  }
  if (command == "status") {
    if (!name.empty() || as_json) {
      std::cerr << "overlapctl: status takes neither a name nor --json\n";
      return kUsage;
    }
    return show_status(socket);
  }
  if (command == "kernels") {
    return show_kernels(socket, name, as_json);
  }
  std::cerr << "overlapctl: say what to do: status or kernels\n" << visible;
  return kUsage;
}

}  // namespace
}  // namespace overlap

int main(int argc, char** argv) {
  try {
    return overlap::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "overlapctl: %s\n", error.what());
    return overlap::kUsage;
  }
}
