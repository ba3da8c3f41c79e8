#include "tests/bench/measured_daemon.hpp"

#include "shared/control_socket.hpp"
#include "tests/bench/interruption.hpp"

#include <poll.h>
#include <chrono>
#include <optional>
#include <stdexcept>
#include <thread>

namespace overlap::bench {
namespace {

constexpr std::chrono::seconds kAnswerLimit{30};
constexpr std::chrono::milliseconds kPause{20};

std::vector<std::string> command_of(const std::string& socket, const std::string& backend,
                                    const std::vector<std::string>& arguments) {
  std::vector<std::string> command{
      program_path("overlapd"), "--socket", socket, "--backend", backend, "--log-level", "warning"};
  command.insert(command.end(), arguments.begin(), arguments.end());
  return command;
}

std::optional<StatusReply> ask(const std::string& socket_path) {
  int error_number = 0;
  const FileDescriptor socket = connect_control_socket(socket_path, error_number);
  const auto request = make_message<StatusRequest>(MessageType::status_request);
  pollfd readable{socket.get(), POLLIN, 0};
  if (!socket || !send_packet(socket, message_bytes(request)) || ::poll(&readable, 1, 1000) != 1) {
    return std::nullopt;
  }
  return read_message<StatusReply>(receive_packet(socket).bytes, MessageType::status_reply);
}

}  // namespace

DaemonCounters DaemonCounters::operator-(const DaemonCounters& before) const noexcept {
  return {.jobs = jobs - before.jobs,
          .batches = batches - before.batches,
          .producer_wakes = producer_wakes - before.producer_wakes,
          .engine_sleeps = engine_sleeps - before.engine_sleeps};
}

DaemonCounters& DaemonCounters::operator+=(const DaemonCounters& other) noexcept {
  jobs += other.jobs;
  batches += other.batches;
  producer_wakes += other.producer_wakes;
  engine_sleeps += other.engine_sleeps;
  return *this;
}

MeasuredDaemon::MeasuredDaemon(const std::string& backend,
                               const std::vector<std::string>& arguments)
    : process_(command_of(socket_path(), backend, arguments)) {
  first_status_ = status();
}

StatusReply MeasuredDaemon::status() const {
  const auto give_up = std::chrono::steady_clock::now() + kAnswerLimit;
  while (std::chrono::steady_clock::now() < give_up) {
    if (const auto reply = ask(socket_path())) {
      return *reply;
    }
    throw_if_interrupted();
    if (process_.has_ended()) {
      throw std::runtime_error("overlapd did not start, or has ended");
    }
    std::this_thread::sleep_for(kPause);
  }
  throw std::runtime_error("overlapd does not answer");
}

DaemonCounters MeasuredDaemon::counters() const {
  const StatusReply reply = status();
  return {.jobs = reply.jobs_done,
          .batches = reply.batches,
          .producer_wakes = reply.producer_wakes,
          .engine_sleeps = reply.engine_sleeps};
}

void MeasuredDaemon::wait_for_channels(std::uint32_t at_most) const {
  const auto give_up = std::chrono::steady_clock::now() + kAnswerLimit;
  while (status().channel_count > at_most) {
    throw_if_interrupted();
    if (std::chrono::steady_clock::now() > give_up) {
      throw std::runtime_error("overlapd keeps channels whose producers have left");
    }
    std::this_thread::sleep_for(kPause);
  }
}

}  // namespace overlap::bench
