#include "tests/bench/semaphore_ping_pong.hpp"

#include "shared/monotonic_clock.hpp"
#include "tests/bench/interruption.hpp"

#include <boost/interprocess/sync/interprocess_semaphore.hpp>

#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <new>
#include <system_error>

namespace overlap::bench {

struct SemaphorePingPong::Table {
  alignas(64) boost::interprocess::interprocess_semaphore ping{0};
  alignas(64) boost::interprocess::interprocess_semaphore pong{0};
};

SemaphorePingPong::SemaphorePingPong() {
  void* const memory =
      ::mmap(nullptr, sizeof(Table), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) {
    throw std::system_error(errno, std::generic_category(), "mmap");
  }
  table_ = new (memory) Table;
  echo_ = ::fork();
  if (echo_ < 0) {
    const int error = errno;
    ::munmap(memory, sizeof(Table));
    throw std::system_error(error, std::generic_category(), "fork");
  }
  if (echo_ == 0) {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    restore_interruptions();
    while (true) {
      table_->ping.wait();
      table_->pong.post();
    }
  }
}

SemaphorePingPong::~SemaphorePingPong() {
  ::kill(echo_, SIGKILL);
  ::waitpid(echo_, nullptr, 0);
  ::munmap(table_, sizeof(Table));
}

LatencyRecord SemaphorePingPong::measure(std::chrono::milliseconds duration) {
  LatencyRecord record;
  const auto duration_ns = static_cast<std::uint64_t>(std::chrono::nanoseconds(duration).count());
  const std::uint64_t start_ns = monotonic_now_ns();
  std::uint64_t now_ns = start_ns;
  while (now_ns - start_ns < duration_ns) {
    const std::uint64_t sent_ns = now_ns;
    table_->ping.post();
    table_->pong.wait();
    now_ns = monotonic_now_ns();
    record.add(now_ns - sent_ns);
  }
  throw_if_interrupted();
  return record;
}

}  // namespace overlap::bench
