#include "tests/bench/svg_plot.hpp"

#include "shared/byte_size.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <sstream>

namespace overlap::bench {
namespace {

constexpr double kWidth = 860;
constexpr double kPanelHeight = 330;
constexpr double kTop = 46;
constexpr double kLeft = 76;
constexpr double kPlotWidth = 580;
constexpr double kPlotHeight = 240;
constexpr double kLegendLeft = kLeft + kPlotWidth + 24;

/// Told apart on white and on black, and by people who do not see red and green.
constexpr std::array<const char*, 8> kColours = {"#2f81f7", "#8b949e", "#d9822b", "#2da486",
                                                 "#b65fcf", "#d1495b", "#8f9a2a", "#5b74c9"};
constexpr const char* kInk = "#7a828c";

std::string escaped(const std::string& text) {
  std::string result;
  for (const char letter : text) {
    switch (letter) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      default:
        result += letter;
    }
  }
  return result;
}

std::string coordinate(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.1f", value);
  return text;
}

std::string tick_text(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%g", value);
  return text;
}

bool can_draw(const Panel& panel, const Series::Point& point) {
  return std::isfinite(point.x) && std::isfinite(point.y) && point.x > 0 &&
         (panel.log_y ? point.y > 0 : point.y >= 0);
}

/// A step of 1, 2 or 5 times a power of ten, for at most about five ticks.
double nice_step(double top) {
  const double rough = top / 5;
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (rough <= factor * power) {
      return factor * power;
    }
  }
  return 10 * power;
}

/// Where things lie in one panel.
class Axes {
 public:
  Axes(const Panel& panel, double top) : log_y_(panel.log_y), top_(top) {
    for (const Series& series : panel.series) {
      for (const Series::Point& point : series.points) {
        if (can_draw(panel, point)) {
          include(point);
        }
      }
    }
    if (empty()) {
      return;
    }
    // A single size still gets a width.
    if (x_least_ == x_most_) {
      x_least_ /= 2;
      x_most_ *= 2;
    }
    if (log_y_) {
      const int first = static_cast<int>(std::floor(std::log10(y_least_)));
      // A little above a power of ten is not yet worth a whole decade more.
      const int last =
          std::max(first + 1, static_cast<int>(std::ceil(std::log10(y_most_ * 0.999))));
      for (int exponent = first; exponent <= last; ++exponent) {
        ticks_.push_back(std::pow(10, exponent));
      }
    } else {
      const double step = nice_step(y_most_ > 0 ? y_most_ : 1);
      const int count = std::max(1, static_cast<int>(std::ceil(y_most_ / step)));
      for (int index = 0; index <= count; ++index) {
        ticks_.push_back(index * step);
      }
    }
    y_least_ = ticks_.front();
    y_most_ = ticks_.back();
  }

  [[nodiscard]] bool empty() const { return x_most_ == 0; }
  [[nodiscard]] const std::vector<double>& ticks() const { return ticks_; }
  /// Powers of two, or of four or more where they would touch.
  [[nodiscard]] std::vector<double> sizes() const {
    const int first = static_cast<int>(std::ceil(std::log2(x_least_)));
    const int last = static_cast<int>(std::floor(std::log2(x_most_)));
    const int step = std::max(1, (last - first + 10) / 11);
    std::vector<double> result;
    for (int exponent = first; exponent <= last; exponent += step) {
      result.push_back(std::pow(2, exponent));
    }
    return result;
  }
  [[nodiscard]] double x(double bytes) const {
    return kLeft + kPlotWidth * std::log2(bytes / x_least_) / std::log2(x_most_ / x_least_);
  }
  [[nodiscard]] double y(double value) const {
    const double share =
        log_y_ ? std::log10(value / y_least_) / std::log10(y_most_ / y_least_) : value / y_most_;
    return top_ + kPlotHeight * (1 - share);
  }
  [[nodiscard]] double top() const { return top_; }
  [[nodiscard]] double bottom() const { return top_ + kPlotHeight; }

 private:
  void include(const Series::Point& point) {
    const bool first = empty();
    x_least_ = first ? point.x : std::min(x_least_, point.x);
    x_most_ = std::max(x_most_, point.x);
    y_least_ = first ? point.y : std::min(y_least_, point.y);
    y_most_ = std::max(y_most_, point.y);
  }

  bool log_y_;
  double top_;
  double x_least_ = 0;
  double x_most_ = 0;
  double y_least_ = 0;
  double y_most_ = 0;
  std::vector<double> ticks_;
};

void write_text(std::ostream& out, double x, double y, const std::string& anchor,
                const std::string& text, const std::string& more = "") {
  out << "<text x=\"" << coordinate(x) << "\" y=\"" << coordinate(y) << "\" text-anchor=\""
      << anchor << "\"" << more << ">" << escaped(text) << "</text>\n";
}

void write_line(std::ostream& out, double x1, double y1, double x2, double y2, double opacity) {
  out << "<line x1=\"" << coordinate(x1) << "\" y1=\"" << coordinate(y1) << "\" x2=\""
      << coordinate(x2) << "\" y2=\"" << coordinate(y2) << "\" stroke=\"" << kInk
      << "\" stroke-opacity=\"" << opacity << "\"/>\n";
}

void write_axes(std::ostream& out, const Panel& panel, const Axes& axes) {
  write_text(out, kLeft, axes.top() - 10, "start", panel.title, " font-weight=\"600\"");
  for (const double tick : axes.ticks()) {
    write_line(out, kLeft, axes.y(tick), kLeft + kPlotWidth, axes.y(tick), 0.25);
    write_text(out, kLeft - 8, axes.y(tick) + 4, "end", tick_text(tick) + panel.unit);
  }
  for (const double bytes : axes.sizes()) {
    write_line(out, axes.x(bytes), axes.bottom(), axes.x(bytes), axes.bottom() + 5, 0.8);
    write_text(out, axes.x(bytes), axes.bottom() + 19, "middle",
               format_bytes(static_cast<std::uint64_t>(bytes)));
  }
  write_line(out, kLeft, axes.bottom(), kLeft + kPlotWidth, axes.bottom(), 0.8);
  write_text(out, kLeft + kPlotWidth / 2, axes.bottom() + 38, "middle", "slot size, bytes");
}

void write_series(std::ostream& out, const Panel& panel, const Axes& axes, const Series& series,
                  const char* colour) {
  std::string path;
  std::string dots;
  for (const Series::Point& point : series.points) {
    if (!can_draw(panel, point)) {
      continue;
    }
    const std::string x = coordinate(axes.x(point.x));
    const std::string y = coordinate(axes.y(point.y));
    path += (path.empty() ? "M" : " L") + x + " " + y;
    dots += "<circle cx=\"" + x + "\" cy=\"" + y + "\" r=\"3\" fill=\"" + colour + "\"/>\n";
  }
  if (path.empty()) {
    return;
  }
  out << "<path d=\"" << path << "\" fill=\"none\" stroke=\"" << colour << "\" stroke-width=\"2\""
      << (series.dashed ? " stroke-dasharray=\"6 4\"" : "") << "/>\n"
      << dots;
}

}  // namespace

std::string to_svg(const std::string& title, const std::vector<Panel>& panels) {
  std::vector<Series> names;
  std::ostringstream body;
  double top = kTop + 28;
  for (const Panel& panel : panels) {
    const Axes axes(panel, top);
    if (axes.empty()) {
      continue;
    }
    write_axes(body, panel, axes);
    for (const Series& series : panel.series) {
      auto known = std::find_if(names.begin(), names.end(),
                                [&](const Series& other) { return other.name == series.name; });
      if (known == names.end()) {
        names.push_back({series.name, {}, series.dashed});
        known = names.end() - 1;
      }
      const auto index = static_cast<std::size_t>(known - names.begin());
      write_series(body, panel, axes, series, kColours[index % kColours.size()]);
    }
    top += kPanelHeight;
  }
  for (std::size_t index = 0; index < names.size(); ++index) {
    const double y = kTop + 36 + 22 * static_cast<double>(index);
    body << "<line x1=\"" << kLegendLeft << "\" y1=\"" << y << "\" x2=\"" << kLegendLeft + 26
         << "\" y2=\"" << y << "\" stroke=\"" << kColours[index % kColours.size()]
         << "\" stroke-width=\"2\"" << (names[index].dashed ? " stroke-dasharray=\"6 4\"" : "")
         << "/>\n";
    write_text(body, kLegendLeft + 34, y + 4, "start", names[index].name);
  }
  std::ostringstream out;
  out << "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 " << kWidth << ' ' << top
      << "\" width=\"" << kWidth << "\" height=\"" << top
      << "\" font-family=\"system-ui, sans-serif\" font-size=\"12\" fill=\"" << kInk << "\">\n";
  write_text(out, kLeft, 26, "start", title, " font-size=\"15\" font-weight=\"600\"");
  out << body.str() << "</svg>\n";
  return out.str();
}

}  // namespace overlap::bench
