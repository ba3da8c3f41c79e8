#pragma once

#include "shared/file_descriptor.hpp"

#include <cstdint>
#include <span>
#include <system_error>

namespace overlap {

/// What a readable descriptor is about.
enum class EventSource : std::uint32_t { listener, signals, mailbox, socket, doorbell };

struct PolledEvent {
  EventSource source;
  /// Which session; 0 where there is only one.
  std::uint32_t key;
};

/// An epoll set whose events say what they are about. Any thread may add and remove.
class EventPoll {
 public:
  /// @throws std::system_error
  EventPoll();

  enum class Trigger : std::uint8_t {
    level,
    /// For descriptors that are never read.
    edge,
  };

  /// @return why the kernel does not watch it: no memory, or too many watches (ENOSPC)
  [[nodiscard]] std::error_code add(int fd, EventSource source, std::uint32_t key = 0,
                                    Trigger trigger = Trigger::level) noexcept;
  /// Takes a descriptor in, edge-triggered, without reporting it yet: `arm` and `disarm` cannot fail
  /// for want of anything then.
  [[nodiscard]] std::error_code add_disarmed(int fd, EventSource source,
                                             std::uint32_t key) noexcept;
  /// Reports the descriptor, at once if it is readable, with every edge.
  /// @pre added disarmed
  void arm(int fd, EventSource source, std::uint32_t key) noexcept;
  void disarm(int fd, EventSource source, std::uint32_t key) noexcept;
  /// A descriptor that is not there is no error.
  void remove(int fd) noexcept;

  /// @param limit_ms negative for no limit
  /// @return events in `storage`; fewer than there are if it is full
  [[nodiscard]] std::span<const PolledEvent> wait(std::span<PolledEvent> storage, int limit_ms);

 private:
  [[nodiscard]] std::error_code control(int operation, int fd, std::uint32_t events,
                                        EventSource source, std::uint32_t key) noexcept;

  FileDescriptor epoll_;
};

}  // namespace overlap
