#pragma once

#include "shared/file_descriptor.hpp"

#include <atomic>
#include <memory>
#include <mutex>
#include <new>
#include <utility>

namespace overlap {

// What makes the library safe after fork(). A child inherits every descriptor, and as long as it
// holds the control socket the daemon cannot see the parent's death; so the child must close them,
// and a pthread_atfork handler has no argument to find them by. Hence the one process-wide list of
// this library: the descriptors to close and the flags to raise, in fork_guard.cpp, and nothing
// else.

/// While one exists, no other thread's fork() goes through: descriptors that are made and listed
/// within it cannot slip into a child. Hold it for non-blocking calls only.
class NoForkSection {
 public:
  NoForkSection();

 private:
  std::unique_lock<std::mutex> lock_;
};

/// Owns a descriptor that is closed in every forked child. Move-only.
class PrivateDescriptor {
 public:
  PrivateDescriptor() noexcept = default;
  /// Takes ownership; the section must have begun before the descriptor was made.
  PrivateDescriptor(FileDescriptor descriptor, const NoForkSection& section);
  PrivateDescriptor(PrivateDescriptor&&) noexcept = default;
  PrivateDescriptor& operator=(PrivateDescriptor&& other) noexcept;
  PrivateDescriptor(const PrivateDescriptor&) = delete;
  PrivateDescriptor& operator=(const PrivateDescriptor&) = delete;
  ~PrivateDescriptor() { reset(); }

  [[nodiscard]] int get() const noexcept { return descriptor_.get(); }
  [[nodiscard]] explicit operator bool() const noexcept { return static_cast<bool>(descriptor_); }
  [[nodiscard]] const FileDescriptor& descriptor() const noexcept { return descriptor_; }
  /// Closes it, unless this is a child where that has been done.
  void reset() noexcept;

 private:
  FileDescriptor descriptor_;
};

/// Raised in a forked child. Thread safety: any; takes no lock, for one may be held for ever there.
class ForkFlag {
 public:
  ForkFlag();
  ~ForkFlag();
  ForkFlag(const ForkFlag&) = delete;
  ForkFlag& operator=(const ForkFlag&) = delete;

  [[nodiscard]] bool raised() const noexcept { return raised_.load(std::memory_order_relaxed); }
  /// @throws ForkedProcess
  void check() const;
  /// For the handler alone.
  void raise() noexcept { raised_.store(true, std::memory_order_relaxed); }

 private:
  std::atomic<bool> raised_{false};
};

/// Drops a share without ever destroying what it points to: in a child there is nothing to unmap,
/// no thread to join, and a condition variable that was waited on cannot be destroyed.
template <class T>
void abandon(std::shared_ptr<T>&& share) noexcept {
  alignas(std::shared_ptr<T>) unsigned char room[sizeof(std::shared_ptr<T>)];
  ::new (static_cast<void*>(room)) std::shared_ptr<T>(std::move(share));
}

}  // namespace overlap
