// overlapctl: asks a running daemon how it is.

#include "shared/byte_size.hpp"
#include "shared/control_protocol.hpp"
#include "shared/control_socket.hpp"
#include "shared/socket_path.hpp"

#include <boost/program_options.hpp>

#include <poll.h>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <optional>
#include <string>

namespace overlap {
namespace {

constexpr int kUsage = 2;
constexpr int kNoDaemon = 3;
constexpr int kAnswerTimeoutMs = 2000;

std::optional<StatusReply> ask(const FileDescriptor& socket) {
  const auto request = make_message<StatusRequest>(MessageType::status_request);
  if (!send_packet(socket, message_bytes(request))) {
    return std::nullopt;
  }
  pollfd readable{socket.get(), POLLIN, 0};
  if (::poll(&readable, 1, kAnswerTimeoutMs) != 1) {
    return std::nullopt;
  }
  const Packet packet = receive_packet(socket);
  if (packet.outcome != Packet::Outcome::received) {
    return std::nullopt;
  }
  return read_message<StatusReply>(packet.bytes, MessageType::status_reply);
}

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

int status(const std::optional<std::string>& option) {
  const ClientSocketPath path = client_socket_path(option, SocketEnvironment::of_this_process());
  int error_number = 0;
  const FileDescriptor socket = connect_control_socket(path.path, error_number);
  if (!socket) {
    std::fprintf(stderr,
                 "overlapctl: no daemon: %s (looked at %s); start overlapd or name its socket with "
                 "--socket\n",
                 std::strerror(error_number), list_tried(path).c_str());
    return kNoDaemon;
  }
  const auto reply = ask(socket);
  if (!reply) {
    std::fprintf(stderr, "overlapctl: %s does not answer as overlapd does\n", path.path.c_str());
    return kNoDaemon;
  }
  print(*reply);
  return 0;
}

int run(int argc, char** argv) {
  namespace po = boost::program_options;
  po::options_description visible("Usage: overlapctl [--socket PATH] status\n\nOptions");
  visible.add_options()("help", "print this")("version", "print the version")(
      "socket", po::value<std::string>()->value_name("PATH"), "the daemon's control socket");
  po::options_description all;
  all.add(visible).add_options()("command", po::value<std::string>());
  po::positional_options_description positional;
  positional.add("command", 1);
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
  if (values.count("command") == 0 || values["command"].as<std::string>() != "status") {
    std::cerr << "overlapctl: say what to do: status\n" << visible;
    return kUsage;
  }
  return status(values.count("socket") != 0 ? std::optional(values["socket"].as<std::string>())
                                            : std::nullopt);
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
