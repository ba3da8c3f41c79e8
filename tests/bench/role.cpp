#include "tests/bench/role.hpp"

#include "shared/monotonic_clock.hpp"

#include <time.h>
#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <exception>
#include <iostream>
#include <sstream>

namespace overlap::bench {
namespace {

void sleep_until(std::uint64_t time_ns) {
  constexpr std::uint64_t kSecond = 1'000'000'000;
  const timespec wanted{static_cast<time_t>(time_ns / kSecond),
                        static_cast<long>(time_ns % kSecond)};
  while (::clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &wanted, nullptr) == EINTR) {
  }
}

RoundOutcome run_from(Role& role, std::uint64_t start_ns, std::chrono::nanoseconds duration,
                      const std::string& how) {
  sleep_until(start_ns);
  if (duration.count() == 0) {
    return role.run(std::chrono::nanoseconds(0), how);
  }
  const std::chrono::nanoseconds late(monotonic_now_ns() - start_ns);
  RoundOutcome outcome = role.run(std::max(duration - late, std::chrono::nanoseconds(1)), how);
  outcome.seconds += std::chrono::duration<double>(late).count();
  return outcome;
}

}  // namespace

int serve_role(const std::function<std::unique_ptr<Role>()>& make) {
  try {
    const std::unique_ptr<Role> role = make();
    std::cout << "ready" << std::endl;
    std::string line;
    while (std::getline(std::cin, line)) {
      std::istringstream command(line);
      std::string word;
      std::uint64_t start_ns = 0;
      std::uint64_t milliseconds = 0;
      std::string how;
      command >> word;
      if (word == "prepare") {
        role->prepare();
        std::cout << "prepared" << std::endl;
      } else if (word == "run" && command >> start_ns >> milliseconds) {
        command >> how;
        std::cout
            << run_from(*role, start_ns, std::chrono::milliseconds(milliseconds), how).to_line()
            << std::endl;
      } else {
        std::cout << "'" << line << "' is no command" << std::endl;
        return 1;
      }
    }
    return 0;
  } catch (const std::exception& error) {
    std::cout << error.what() << std::endl;
    return 1;
  }
}

}  // namespace overlap::bench
