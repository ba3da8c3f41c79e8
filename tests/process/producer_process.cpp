#include "tests/process/producer_process.hpp"

#include <poll.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <utility>

namespace overlap::testing {

ProducerProcess::ProducerProcess(const std::string& socket_path, std::uint32_t slot_count,
                                 std::uint64_t slot_bytes)
    : ProducerProcess(socket_path, slot_count, slot_bytes, Pipe(), Pipe()) {}

ProducerProcess::ProducerProcess(const std::string& socket_path, std::uint32_t slot_count,
                                 std::uint64_t slot_bytes, Pipe commands, Pipe answers)
    : program_({.command = {program_path("process_producer"), socket_path,
                            std::to_string(slot_count), std::to_string(slot_bytes)},
                .input = commands.reader.get(),
                .output = answers.writer.get()}),
      commands_(std::move(commands.writer)),
      answers_(std::move(answers.reader)) {}

void ProducerProcess::say(const std::string& line) {
  const std::string text = line + "\n";
  // One that has gone is noticed by its silence.
  static_cast<void>(::write(commands_.get(), text.data(), text.size()) + 1);
}

std::string ProducerProcess::hear() {
  constexpr int kPatienceMs = 1000 * static_cast<int>(kPatience.count());
  while (true) {
    const std::size_t end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    pollfd readable{answers_.get(), POLLIN, 0};
    if (::poll(&readable, 1, kPatienceMs) != 1) {
      return "silent";
    }
    std::array<char, 4096> buffer;
    const ssize_t got = ::read(answers_.get(), buffer.data(), buffer.size());
    if (got <= 0) {
      return "gone; its last words were: " + program_.errors();
    }
    unread_.append(buffer.data(), static_cast<std::size_t>(got));
  }
}

void ProducerProcess::kill() {
  program_.send_signal(SIGKILL);
  static_cast<void>(program_.exit_code());
}

std::optional<int> ProducerProcess::leave() {
  commands_.reset();
  return program_.exit_code();
}

}  // namespace overlap::testing
