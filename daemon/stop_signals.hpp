#pragma once

#include "shared/file_descriptor.hpp"

namespace overlap {

/// Blocks the signals that ask to stop, or to read files again, and hands them out as a descriptor; ignores SIGPIPE and SIGXFSZ. Made before
/// any thread, so that every thread has them blocked.
class StopSignals {
 public:
  /// @throws std::system_error
  StopSignals();

  /// A non-blocking signalfd for SIGTERM and SIGINT, and for SIGHUP: read again.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }

 private:
  FileDescriptor descriptor_;
};

/// Lets the process open as many files as its hard limit allows: a channel takes four.
void raise_descriptor_limit() noexcept;

}  // namespace overlap
