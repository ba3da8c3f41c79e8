#pragma once

#include "daemon/control/pin_worker.hpp"
#include "tests/unit/patience.hpp"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <stdexcept>
#include <utility>

namespace overlap::testing {

/// Reports in the order in which they came.
class Inbox {
 public:
  void put(PinReport report) {
    {
      const std::lock_guard lock(mutex_);
      reports_.push_back(std::move(report));
    }
    changed_.notify_all();
  }
  /// @throws std::runtime_error if patience ended
  [[nodiscard]] PinReport take() {
    std::unique_lock lock(mutex_);
    if (!changed_.wait_until(lock, std::chrono::system_clock::now() + kPatience,
                             [this] { return !reports_.empty(); })) {
      throw std::runtime_error("no report");
    }
    PinReport report = std::move(reports_.front());
    reports_.pop_front();
    return report;
  }
  [[nodiscard]] bool is_empty() {
    const std::lock_guard lock(mutex_);
    return reports_.empty();
  }

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<PinReport> reports_;
};

}  // namespace overlap::testing
