#include "tests/bench/svg_plot.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <string>

namespace overlap::bench {
namespace {

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

Panel panel(std::vector<Series> series, bool log_y = false) {
  return {.title = "Rates", .series = std::move(series), .log_y = log_y, .unit = ""};
}

/// Where the n-th point is drawn.
double height_of(const std::string& svg, std::size_t index) {
  std::size_t at = 0;
  for (std::size_t i = 0; i <= index; ++i) {
    at = svg.find("cy=\"", at) + 4;
  }
  return std::stod(svg.substr(at));
}

TEST(SvgPlot, OfNothingIsStillASvg) {
  const std::string sut = to_svg("Nothing", {});
  EXPECT_EQ(sut.rfind("<svg", 0), 0U);
  EXPECT_NE(sut.find("</svg>"), std::string::npos);
  EXPECT_EQ(count_of(sut, "<path"), 0U);
}

TEST(SvgPlot, DrawsEveryPointAndNamesEverySeriesOnce) {
  const Series ours{.name = "ours", .points = {{4096, 3}, {65536, 5}}};
  const Series bound{.name = "bound", .points = {{4096, 6}, {65536, 6}}, .dashed = true};
  const std::string sut = to_svg("Rates", {panel({ours, bound}), panel({ours})});
  EXPECT_EQ(count_of(sut, "<circle"), 6U);
  EXPECT_EQ(count_of(sut, "<path"), 3U);
  EXPECT_EQ(count_of(sut, ">ours<"), 1U);
  EXPECT_EQ(count_of(sut, ">bound<"), 1U);
  EXPECT_NE(sut.find(">4KiB<"), std::string::npos);
  EXPECT_NE(sut.find(">64KiB<"), std::string::npos);
}

TEST(SvgPlot, PutsEqualStepsOfALogarithmApartEqually) {
  const std::string sut =
      to_svg("Rates", {panel({{.name = "a", .points = {{64, 0.1}, {128, 1}, {256, 10}}}}, true)});
  const double low = height_of(sut, 0);
  const double middle = height_of(sut, 1);
  const double high = height_of(sut, 2);
  EXPECT_GT(low, middle);
  EXPECT_NEAR(low - middle, middle - high, 0.11);
}

TEST(SvgPlot, BeginsALinearAxisAtZero) {
  const std::string sut =
      to_svg("Rates", {panel({{.name = "a", .points = {{64, 0}, {128, 50}, {256, 100}}}})});
  EXPECT_NEAR(height_of(sut, 0) - height_of(sut, 1), height_of(sut, 1) - height_of(sut, 2), 0.11);
  EXPECT_NE(sut.find(">0<"), std::string::npos);
  EXPECT_NE(sut.find(">100<"), std::string::npos);
}

TEST(SvgPlot, LeavesOutWhatCannotBeDrawn) {
  const double infinite = std::numeric_limits<double>::infinity();
  const std::string sut =
      to_svg("Rates", {panel({{.name = "a", .points = {{64, 0}, {128, infinite}, {256, 5}}}}, true),
                       panel({{.name = "b", .points = {{64, std::nan("")}}}})});
  EXPECT_EQ(count_of(sut, "<circle"), 1U);
  EXPECT_EQ(sut.find("nan"), std::string::npos);
  EXPECT_EQ(sut.find("inf"), std::string::npos);
}

TEST(SvgPlot, EscapesWhatStandsInNames) {
  const std::string sut = to_svg("a < b & \"c\"", {});
  EXPECT_NE(sut.find("a &lt; b &amp; &quot;c&quot;"), std::string::npos);
}

TEST(SvgPlot, DrawsOneSizeAlone) {
  const std::string sut = to_svg("Rates", {panel({{.name = "a", .points = {{4096, 5}}}})});
  EXPECT_EQ(count_of(sut, "<circle"), 1U);
  EXPECT_EQ(sut.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace overlap::bench
