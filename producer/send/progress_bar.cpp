#include "producer/send/progress_bar.hpp"

#include "shared/monotonic_clock.hpp"

#include <unistd.h>
#include <algorithm>
#include <string_view>

namespace overlap {
namespace {

constexpr std::uint64_t kRedrawNs = 100'000'000;
constexpr std::size_t kBarWidth = 40;

void draw(int descriptor, std::string_view text) {
  // A terminal that takes no more misses a picture, nothing else.
  static_cast<void>(!::write(descriptor, text.data(), text.size()));
}

}  // namespace

ProgressBar::ProgressBar(std::optional<std::uint64_t> total_bytes, int descriptor)
    : total_bytes_(total_bytes),
      descriptor_(descriptor),
      on_terminal_(descriptor >= 0 && ::isatty(descriptor) == 1) {}

ProgressBar::~ProgressBar() {
  if (drawn_ns_ != 0) {
    draw(descriptor_, "\r\x1b[K");
  }
}

void ProgressBar::show(std::uint64_t done_bytes) {
  if (!on_terminal_) {
    return;
  }
  const std::uint64_t now_ns = monotonic_now_ns();
  if (now_ns - drawn_ns_ >= kRedrawNs) {
    drawn_ns_ = now_ns;
    draw(descriptor_, "\r" + progress_line(done_bytes, total_bytes_) + "\x1b[K");
  }
}

std::string progress_line(std::uint64_t done_bytes, std::optional<std::uint64_t> total_bytes) {
  const std::string megabytes = std::to_string(done_bytes >> 20U) + " MiB";
  if (!total_bytes || *total_bytes == 0) {
    return megabytes;
  }
  const double share =
      std::min(1.0, static_cast<double>(done_bytes) / static_cast<double>(*total_bytes));
  const auto filled = static_cast<std::size_t>(share * static_cast<double>(kBarWidth));
  std::string percent = std::to_string(static_cast<int>(share * 100));
  percent.insert(0, 3 - std::min<std::size_t>(percent.size(), 3), ' ');
  return "[" + std::string(filled, '#') + std::string(kBarWidth - filled, ' ') + "] " + percent +
         " %  " + megabytes;
}

}  // namespace overlap
