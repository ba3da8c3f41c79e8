#pragma once

#include "producer/fork_guard.hpp"

namespace overlap {

/// One descriptor for poll loops that stays the same whatever channel it stands for: an epoll
/// instance over the current channel's wake pipe and an eventfd of the library's own.
/// Restricted: one thread at a time.
class CompletionPoll {
 public:
  /// Makes the descriptors the first time; later calls do nothing.
  /// @throws std::system_error
  void open(int wake_descriptor);
  [[nodiscard]] bool is_open() const noexcept { return static_cast<bool>(epoll_); }
  /// Readable when there is a reason to look.
  [[nodiscard]] int descriptor() const noexcept { return epoll_.get(); }

  /// Leaves the current channel's pipe; call before it is closed.
  void detach() noexcept;
  /// Watches the pipe of a new channel.
  void attach(int wake_descriptor) noexcept;

  /// Makes the descriptor readable.
  void wake() const noexcept;
  /// Makes it unreadable.
  void quiet() const noexcept;

  void close() noexcept;

 private:
  PrivateDescriptor epoll_;
  PrivateDescriptor own_;
  int wake_descriptor_ = -1;
};

}  // namespace overlap
