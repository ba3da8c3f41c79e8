#pragma once

#include <chrono>
#include <thread>

namespace overlap::testing {

/// Longer than anything takes on a busy machine under a sanitizer.
inline constexpr std::chrono::seconds kPatience{30};

/// Asks again and again, giving way to other threads, until the answer is yes or patience ends.
template <class Question>
[[nodiscard]] bool eventually(Question question) {
  const auto end = std::chrono::steady_clock::now() + kPatience;
  while (!question()) {
    if (std::chrono::steady_clock::now() >= end) {
      return false;
    }
    std::this_thread::yield();
  }
  return true;
}

}  // namespace overlap::testing
