#include "tests/bench/role_options.hpp"

#include <algorithm>
#include <charconv>
#include <map>
#include <stdexcept>

namespace overlap::bench {
namespace {

std::uint64_t read_number(const std::string& name, const std::string& text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    throw std::runtime_error(name + ": '" + text + "' is no number");
  }
  return number;
}

}  // namespace

std::vector<std::string> RoleOptions::to_arguments() const {
  std::vector<std::string> arguments{
      "--role",       role,
      "--socket",     socket_path,
      "--slot-bytes", std::to_string(slot_bytes),
      "--slots",      std::to_string(slot_count),
      "--vector-add", std::to_string(work == Work::vector_add ? repeat : 0),
      "--count",      std::to_string(count),
      "--threads",    std::to_string(thread_count),
      "--index",      std::to_string(index),
      "--elements",   std::to_string(element_count)};
  if (spin) {
    arguments.insert(arguments.end(), {"--spin-ns", std::to_string(spin->count())});
  }
  return arguments;
}

RoleOptions RoleOptions::from_arguments(const std::vector<std::string>& arguments) {
  std::map<std::string, std::string> values;
  for (std::size_t index = 0; index + 1 < arguments.size(); index += 2) {
    values[arguments[index]] = arguments[index + 1];
  }
  const auto number = [&values](const std::string& name, std::uint64_t missing) {
    const auto found = values.find(name);
    return found == values.end() ? missing : read_number(name, found->second);
  };
  RoleOptions options;
  options.role = values["--role"];
  options.socket_path = values["--socket"];
  options.slot_bytes = number("--slot-bytes", 0);
  options.slot_count = static_cast<std::uint32_t>(number("--slots", 8));
  if (const std::uint64_t repeat = number("--vector-add", 0); repeat != 0) {
    options.work = Work::vector_add;
    options.repeat = static_cast<std::uint32_t>(repeat);
  }
  if (values.count("--spin-ns") != 0) {
    options.spin = std::chrono::nanoseconds(number("--spin-ns", 0));
  }
  options.count = static_cast<std::uint32_t>(number("--count", 1));
  options.thread_count = static_cast<std::uint32_t>(number("--threads", 1));
  options.index = static_cast<std::uint32_t>(number("--index", 0));
  options.element_count = number("--elements", 0);
  return options;
}

bool RoleOptions::are_meant(const std::vector<std::string>& arguments) {
  return !arguments.empty() && arguments.front() == "--role";
}

}  // namespace overlap::bench
