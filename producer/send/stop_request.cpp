#include "producer/send/stop_request.hpp"

#include <pthread.h>
#include <sys/signalfd.h>
#include <unistd.h>
#include <cerrno>
#include <system_error>

namespace overlap {

StopRequest::StopRequest() {
  ::sigemptyset(&signals_);
  ::sigaddset(&signals_, SIGINT);
  ::sigaddset(&signals_, SIGTERM);
  ::pthread_sigmask(SIG_BLOCK, &signals_, nullptr);
  descriptor_ = FileDescriptor(::signalfd(-1, &signals_, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_) {
    throw std::system_error(errno, std::generic_category(), "signalfd");
  }
}

int StopRequest::signal_number() noexcept {
  signalfd_siginfo info{};
  if (signal_number_ == 0 && ::read(descriptor_.get(), &info, sizeof info) == sizeof info) {
    signal_number_ = static_cast<int>(info.ssi_signo);
    ::pthread_sigmask(SIG_UNBLOCK, &signals_, nullptr);
  }
  return signal_number_;
}

}  // namespace overlap
