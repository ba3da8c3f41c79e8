#include "daemon/stop_signals.hpp"

#include <pthread.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <cerrno>
#include <csignal>
#include <system_error>

namespace overlap {

StopSignals::StopSignals() {
  // Neither a reader that goes away nor a limit on file sizes may take the daemon with it: both are
  // errors that the calls report.
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGXFSZ, SIG_IGN);
  sigset_t stop;
  sigemptyset(&stop);
  sigaddset(&stop, SIGTERM);
  sigaddset(&stop, SIGINT);
  sigaddset(&stop, SIGHUP);
  const int result = pthread_sigmask(SIG_BLOCK, &stop, nullptr);
  if (result != 0) {
    throw std::system_error(result, std::generic_category(), "pthread_sigmask");
  }
  descriptor_ = FileDescriptor(::signalfd(-1, &stop, SFD_CLOEXEC | SFD_NONBLOCK));
  if (!descriptor_) {
    throw std::system_error(errno, std::generic_category(), "signalfd");
  }
}

void raise_descriptor_limit() noexcept {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    ::setrlimit(RLIMIT_NOFILE, &limit);
  }
}

}  // namespace overlap
