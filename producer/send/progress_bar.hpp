#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace overlap {

/// One line that shows how far it is, on a terminal. Restricted: one thread.
class ProgressBar {
 public:
  /// @param total_bytes empty where it is not known
  /// @param descriptor where to draw; nothing is drawn unless it is a terminal
  ProgressBar(std::optional<std::uint64_t> total_bytes, int descriptor);
  /// Wipes the line.
  ~ProgressBar();
  ProgressBar(const ProgressBar&) = delete;
  ProgressBar& operator=(const ProgressBar&) = delete;

  /// Draws, but not more than ten times a second.
  void show(std::uint64_t done_bytes);

 private:
  std::optional<std::uint64_t> total_bytes_;
  int descriptor_;
  bool on_terminal_;
  std::uint64_t drawn_ns_ = 0;
};

/// The line for a share of the work: `[#####     ]  50 %  512MiB`.
[[nodiscard]] std::string progress_line(std::uint64_t done_bytes,
                                        std::optional<std::uint64_t> total_bytes);

}  // namespace overlap
