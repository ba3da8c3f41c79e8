// process_producer SOCKET SLOTS SLOT_BYTES: a producer that does what it is told, one line a command,
// and that knows what each of its results must be. Its payloads have a number, counted from 0: bytes
// of its own, doubled by the daemon, and a length of its own.
//
//   submit N      hands over the next N payloads                       submitted
//   hold          acquires a slot and fills half of it                 held
//   submit-held   fills the rest and hands it over                     submitted
//   flush         waits until every job has ended                      flushed
//   take N        takes the next N results in the order of submission  took N
//   stream ORDER  keeps every slot busy until the next line comes, then takes what is under way;
//                 ORDER is `any` or `next`                             streaming, streamed N
//                 and with the first result after each daemon's end    resumed N
//   resumes       how often a daemon went                              resumed N
//
// A wrong result is answered with `wrong`, an exception with its kind and text.

#include "producer/producer.hpp"

#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <optional>
#include <set>
#include <span>
#include <sstream>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace overlap::testing {
namespace {

/// A result that is not what it must be.
class WrongResult : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class Commands {
 public:
  [[nodiscard]] static bool is_waiting() {
    pollfd readable{STDIN_FILENO, POLLIN, 0};
    return ::poll(&readable, 1, 0) == 1;
  }
  [[nodiscard]] static std::optional<std::string> next() {
    std::string line;
    for (char letter = 0; ::read(STDIN_FILENO, &letter, 1) == 1;) {
      if (letter == '\n') {
        return line;
      }
      line += letter;
    }
    return std::nullopt;
  }
  static void answer(const std::string& text) {
    std::printf("%s\n", text.c_str());
    std::fflush(stdout);
  }
};

class CheckedProducer {
 public:
  explicit CheckedProducer(ProducerOptions options) : producer_(std::move(options)) {}

  void submit(std::uint64_t count) {
    for (; count > 0; --count) {
      submit(producer_.acquire());
    }
  }

  void hold() {
    held_ = producer_.acquire();
    fill(held_.input().first(held_.input_bytes() / 2), next_payload_);
  }

  void submit_held() {
    const std::uint64_t filled_bytes = held_.input_bytes() / 2;
    submit(std::move(held_), filled_bytes);
  }

  void flush() { producer_.flush(); }

  void take(std::uint64_t count) {
    for (; count > 0; --count) {
      check_next(producer_.wait_next());
    }
  }

  /// @return how many jobs it were
  std::uint64_t stream(bool in_order) {
    const std::uint64_t first = next_payload_;
    bool stopping = false;
    bool told = false;
    std::uint32_t resumes = producer_.resume_count();
    while (!stopping || !outstanding_.empty()) {
      stopping = stopping || Commands::is_waiting();
      while (!stopping) {
        std::optional<Slot> slot = producer_.try_acquire();
        if (!slot) {
          break;
        }
        submit(std::move(*slot));
      }
      if (!outstanding_.empty()) {
        if (in_order) {
          check_next(producer_.wait_next());
        } else {
          check(producer_.wait_any());
        }
        if (!std::exchange(told, true)) {
          Commands::answer("streaming");
        }
        if (const std::uint32_t now = producer_.resume_count(); now != resumes) {
          resumes = now;
          Commands::answer("resumed " + std::to_string(now));
        }
      }
    }
    static_cast<void>(Commands::next());
    if (producer_.try_any()) {
      throw WrongResult("one more result than there were jobs");
    }
    return next_payload_ - first;
  }

  [[nodiscard]] std::uint32_t resumes() const { return producer_.resume_count(); }

 private:
  static constexpr std::uint64_t kLengths = 7;

  /// Bytes below 128, for doubling saturates.
  static std::byte payload_byte(std::uint64_t payload, std::uint64_t at) {
    static const auto seed = static_cast<std::uint64_t>(::getpid());
    std::uint64_t x = (seed << 40U) + payload * 0x9e3779b97f4a7c15ULL + at;
    x = (x ^ (x >> 30U)) * 0xbf58476d1ce4e5b9ULL;
    return static_cast<std::byte>(x >> 57U);
  }
  [[nodiscard]] std::uint64_t payload_bytes(std::uint64_t payload) const {
    return producer_.input_bytes() - std::min(payload % kLengths, producer_.input_bytes() - 1);
  }
  static void fill(std::span<std::byte> bytes, std::uint64_t payload, std::uint64_t from = 0) {
    for (std::uint64_t i = from; i < bytes.size(); ++i) {
      bytes[i] = payload_byte(payload, i);
    }
  }

  void submit(Slot slot, std::uint64_t filled_bytes = 0) {
    const std::uint64_t payload = next_payload_;
    const std::uint64_t bytes = payload_bytes(payload);
    fill(slot.input().first(bytes), payload, filled_bytes);
    producer_.submit(std::move(slot), payload, {.input_bytes = bytes});
    outstanding_.insert(payload);
    ++next_payload_;
  }

  void check_next(const Result& result) {
    if (result.tag() != *outstanding_.begin()) {
      throw WrongResult("payload " + std::to_string(result.tag()) + " came, but the next one is " +
                        std::to_string(*outstanding_.begin()));
    }
    check(result);
  }

  void check(const Result& result) {
    const std::uint64_t payload = result.tag();
    const std::string name = "payload " + std::to_string(payload);
    if (outstanding_.erase(payload) != 1) {
      throw WrongResult(name + " was answered twice");
    }
    if (!result.ok()) {
      throw WrongResult(name + ": " + result.status_text());
    }
    const auto output = result.output();
    if (output.size() != payload_bytes(payload)) {
      throw WrongResult(name + " has " + std::to_string(output.size()) + " bytes");
    }
    for (std::uint64_t i = 0; i < output.size(); ++i) {
      if (output[i] != payload_byte(payload, i) << 1) {
        throw WrongResult(name + " is wrong at byte " + std::to_string(i));
      }
    }
  }

  Producer producer_;
  Slot held_;
  std::uint64_t next_payload_ = 0;
  std::set<std::uint64_t> outstanding_;
};

std::string obey(CheckedProducer& producer, const std::string& line) {
  std::istringstream words(line);
  std::string verb;
  std::string argument;
  words >> verb >> argument;
  if (verb == "submit") {
    producer.submit(std::stoull(argument));
    return "submitted";
  }
  if (verb == "hold") {
    producer.hold();
    return "held";
  }
  if (verb == "submit-held") {
    producer.submit_held();
    return "submitted";
  }
  if (verb == "flush") {
    producer.flush();
    return "flushed";
  }
  if (verb == "take") {
    producer.take(std::stoull(argument));
    return "took " + argument;
  }
  if (verb == "stream") {
    return "streamed " + std::to_string(producer.stream(argument == "next"));
  }
  if (verb == "resumes") {
    return "resumed " + std::to_string(producer.resumes());
  }
  return "unknown command";
}

std::string obey_or_say_why_not(CheckedProducer& producer, const std::string& line) {
  try {
    return obey(producer, line);
  } catch (const WrongResult& error) {
    return std::string("wrong: ") + error.what();
  } catch (const AttachError& error) {
    return std::string("AttachError: ") + error.what();
  } catch (const DaemonGone& error) {
    return std::string("DaemonGone: ") + error.what();
  } catch (const ChannelClosed& error) {
    return std::string("ChannelClosed: ") + error.what();
  } catch (const std::exception& error) {
    return std::string("exception: ") + error.what();
  }
}

int run(const std::vector<std::string>& words) {
  try {
    CheckedProducer producer({.socket_path = words.at(0),
                              .pipelines = {"scale:a=2,type=u8"},
                              .slot_count = static_cast<std::uint32_t>(std::stoul(words.at(1))),
                              .input_bytes = std::stoull(words.at(2))});
    Commands::answer("attached");
    while (const auto line = Commands::next()) {
      Commands::answer(obey_or_say_why_not(producer, *line));
    }
    return 0;
  } catch (const std::exception& error) {
    Commands::answer(std::string("not attached: ") + error.what());
    return 1;
  }
}

}  // namespace
}  // namespace overlap::testing

int main(int argc, char** argv) {
  // A test that has gone is no reason to vanish while results are on their way.
  std::signal(SIGPIPE, SIG_IGN);
  return overlap::testing::run(std::vector<std::string>(argv + 1, argv + argc));
}
