#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace overlap::bench {

/// A line of a plot.
struct Series {
  struct Point {
    /// Bytes.
    double x = 0;
    double y = 0;
  };
  std::string name;
  std::vector<Point> points;
  /// For bounds rather than things that were built.
  bool dashed = false;
};

/// One pair of axes. The x axis is bytes, logarithmic.
struct Panel {
  std::string title;
  std::vector<Series> series;
  /// Powers of ten; else from 0 up.
  bool log_y = false;
  /// Behind the numbers of the y axis, for example " %".
  std::string unit;
};

/// An SVG with one panel below the other and one legend; a name keeps its colour in all of them.
/// No background and middle tones, so that it can be read on light and on dark pages.
///
/// Points that cannot be drawn (not finite, or not positive on a logarithmic axis) are left out, and
/// so is a panel without any. Pure; thread safety: any.
[[nodiscard]] std::string to_svg(const std::string& title, const std::vector<Panel>& panels);

}  // namespace overlap::bench
