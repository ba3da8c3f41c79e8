#include "producer/completion_poll.hpp"

#include <sys/epoll.h>
#include <cerrno>
#include <system_error>

namespace overlap {
namespace {

bool watch(int epoll, int descriptor) noexcept {
  epoll_event event{};
  event.events = EPOLLIN;
  return ::epoll_ctl(epoll, EPOLL_CTL_ADD, descriptor, &event) == 0;
}

}  // namespace

void CompletionPoll::open(int wake_descriptor) {
  if (is_open()) {
    return;
  }
  // Before the section: closing it on a failure needs the lock that the section holds.
  PrivateDescriptor own;
  const NoForkSection section;
  own = PrivateDescriptor(make_eventfd(), section);
  FileDescriptor epoll(::epoll_create1(EPOLL_CLOEXEC));
  if (!epoll || !watch(epoll.get(), own.get())) {
    throw std::system_error(errno, std::generic_category(), "epoll for completion_fd");
  }
  own_ = std::move(own);
  epoll_ = PrivateDescriptor(std::move(epoll), section);
  attach(wake_descriptor);
}

void CompletionPoll::detach() noexcept {
  // Closing may not do: a forked child holds the same open file for a moment.
  if (is_open() && wake_descriptor_ >= 0) {
    ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, wake_descriptor_, nullptr);
  }
  wake_descriptor_ = -1;
}

void CompletionPoll::attach(int wake_descriptor) noexcept {
  if (is_open() && wake_descriptor >= 0 && watch(epoll_.get(), wake_descriptor)) {
    wake_descriptor_ = wake_descriptor;
  }
}

void CompletionPoll::wake() const noexcept {
  if (is_open()) {
    ring(own_.get());
  }
}

void CompletionPoll::quiet() const noexcept {
  if (is_open()) {
    silence(own_.get());
    if (wake_descriptor_ >= 0) {
      silence(wake_descriptor_);
    }
  }
}

void CompletionPoll::close() noexcept {
  detach();
  epoll_.reset();
  own_.reset();
}

}  // namespace overlap
