#include "daemon/control/event_poll.hpp"

#include <sys/epoll.h>
#include <algorithm>
#include <array>
#include <cerrno>
#include <system_error>

namespace overlap {
namespace {

constexpr std::size_t kMaxEvents = 64;
constexpr std::uint32_t kReadable = EPOLLIN | EPOLLRDHUP;

}  // namespace

EventPoll::EventPoll() : epoll_(::epoll_create1(EPOLL_CLOEXEC)) {
  if (!epoll_) {
    throw std::system_error(errno, std::generic_category(), "epoll_create1");
  }
}

std::error_code EventPoll::add(int fd, EventSource source, std::uint32_t key,
                               Trigger trigger) noexcept {
  return control(EPOLL_CTL_ADD, fd, kReadable | (trigger == Trigger::edge ? EPOLLET : 0U), source,
                 key);
}

std::error_code EventPoll::add_disarmed(int fd, EventSource source, std::uint32_t key) noexcept {
  return control(EPOLL_CTL_ADD, fd, EPOLLET, source, key);
}

void EventPoll::arm(int fd, EventSource source, std::uint32_t key) noexcept {
  static_cast<void>(control(EPOLL_CTL_MOD, fd, kReadable | EPOLLET, source, key));
}

void EventPoll::disarm(int fd, EventSource source, std::uint32_t key) noexcept {
  static_cast<void>(control(EPOLL_CTL_MOD, fd, EPOLLET, source, key));
}

std::error_code EventPoll::control(int operation, int fd, std::uint32_t events, EventSource source,
                                   std::uint32_t key) noexcept {
  epoll_event event{};
  event.events = events;
  event.data.u64 = std::uint64_t{static_cast<std::uint32_t>(source)} << 32U | key;
  const int result = ::epoll_ctl(epoll_.get(), operation, fd, &event);
  return result == 0 ? std::error_code() : std::error_code(errno, std::generic_category());
}

void EventPoll::remove(int fd) noexcept { ::epoll_ctl(epoll_.get(), EPOLL_CTL_DEL, fd, nullptr); }

std::span<const PolledEvent> EventPoll::wait(std::span<PolledEvent> storage, int limit_ms) {
  std::array<epoll_event, kMaxEvents> events;
  const int limit = static_cast<int>(std::min(events.size(), storage.size()));
  const int count = ::epoll_wait(epoll_.get(), events.data(), limit, limit_ms);
  const std::size_t got = count > 0 ? static_cast<std::size_t>(count) : 0;
  for (std::size_t i = 0; i < got; ++i) {
    const std::uint64_t data = events[i].data.u64;
    storage[i] = {static_cast<EventSource>(data >> 32U), static_cast<std::uint32_t>(data)};
  }
  return storage.first(got);
}

}  // namespace overlap
