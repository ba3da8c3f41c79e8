#pragma once

#include "shared/file_descriptor.hpp"

#include <csignal>

namespace overlap {

/// SIGINT and SIGTERM as something to look at between two jobs. Make it before any thread. The first
/// one is reported, a second one ends the process as usual.
class StopRequest {
 public:
  /// @throws std::system_error
  StopRequest();

  /// To poll: readable once a signal came.
  [[nodiscard]] int descriptor() const noexcept { return descriptor_.get(); }
  /// @return the first signal's number, or 0
  [[nodiscard]] int signal_number() noexcept;

 private:
  sigset_t signals_{};
  FileDescriptor descriptor_;
  int signal_number_ = 0;
};

}  // namespace overlap
