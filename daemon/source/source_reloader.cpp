#include "daemon/source/source_reloader.hpp"

#include <utility>

namespace overlap {

SourceReloader::SourceReloader(SourceKernels& kernels, std::function<void()> on_rebuilt)
    : kernels_(kernels), on_rebuilt_(std::move(on_rebuilt)) {}

SourceReloader::~SourceReloader() {
  if (thread_.joinable()) {
    thread_.join();
  }
}

void SourceReloader::request() {
  if (thread_.joinable()) {
    is_asked_again_ = true;
    return;
  }
  thread_ = std::thread([this] {
    kernels_.rebuild();
    on_rebuilt_();
  });
}

void SourceReloader::finish() {
  // It has nothing left to do but to end.
  thread_.join();
  kernels_.apply();
  if (std::exchange(is_asked_again_, false)) {
    request();
  }
}

}  // namespace overlap
