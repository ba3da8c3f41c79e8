#pragma once

#include "daemon/source/source_kernels.hpp"

#include <functional>
#include <thread>

namespace overlap {

/// Reads the source kernels' files again on a thread of its own, so that whoever asks goes on.
/// Restricted: one thread.
class SourceReloader {
 public:
  /// @param on_rebuilt called on that thread when it has done its part; `finish` is due then
  /// @pre `kernels` and what `on_rebuilt` uses outlive it
  SourceReloader(SourceKernels& kernels, std::function<void()> on_rebuilt);
  /// Waits for a compiler at work.
  ~SourceReloader();
  SourceReloader(const SourceReloader&) = delete;
  SourceReloader& operator=(const SourceReloader&) = delete;

  /// Returns at once. Asked while one is on its way, it is done once more after that, however often.
  /// @throws std::system_error if there is no thread to be had
  void request();
  /// Puts in service what was made. @pre `on_rebuilt` was called, once for each call
  /// @throws std::system_error if it was asked for once more and there is no thread to be had
  /// @post also then what was made is in service
  void finish();

 private:
  SourceKernels& kernels_;
  std::function<void()> on_rebuilt_;
  bool is_asked_again_ = false;
  std::thread thread_;
};

}  // namespace overlap
