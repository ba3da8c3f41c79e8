#include "tests/bench/report_table.hpp"

#include <gtest/gtest.h>

#include <stdexcept>

namespace overlap::bench {
namespace {

using Form = Column::Form;

ReportTable example() {
  return ReportTable("example", "An example",
                     {{"slot_bytes", "slot", Form::bytes},
                      {"rate", "GB/s", Form::number, 2},
                      {"share", "share", Form::share, 1, true},
                      {"who", "who", Form::text}});
}

bool has(const std::string& line, const std::string& text) {
  return line.find(text) != std::string::npos;
}

TEST(ReportTable, ShowsEveryFormOfCell) {
  ReportTable sut = example();
  sut.add_row({std::uint64_t{64} << 10U, Spread{12.345, 1, 20}, Spread{0.888, 0.875, 0.934}, "we"});
  const std::string line = sut.line(0);
  EXPECT_TRUE(has(line, "64KiB")) << line;
  EXPECT_TRUE(has(line, "12.35") || has(line, "12.34")) << line;
  EXPECT_TRUE(has(line, "88.8 % (87.5-93.4)")) << line;
  EXPECT_TRUE(has(line, "we")) << line;
}

TEST(ReportTable, ShowsADashWhereNothingIsKnown) {
  ReportTable sut = example();
  sut.add_row({Cell(), std::optional<double>(), Cell(), Cell()});
  EXPECT_TRUE(has(sut.line(0), "-"));
  EXPECT_FALSE(has(sut.line(0), "0"));
}

TEST(ReportTable, AlignsNumbersUnderTheEndOfTheirHeader) {
  ReportTable sut = example();
  sut.add_row({4096.0, 1.0, 0.5, "x"});
  EXPECT_EQ(sut.header_line().find("slot") + 4, sut.line(0).find("4KiB") + 4);
  EXPECT_EQ(sut.header_line().find("GB/s") + 4, sut.line(0).find("1.00") + 4);
  EXPECT_EQ(sut.header_line().find("who"), sut.line(0).find('x'));
}

TEST(ReportTable, RefusesARowOfAnotherWidth) {
  ReportTable sut = example();
  EXPECT_THROW(sut.add_row({1.0}), std::invalid_argument);
  EXPECT_TRUE(sut.rows().empty());
}

TEST(ReportTable, FindsItsColumns) {
  const ReportTable sut = example();
  EXPECT_EQ(sut.column("share"), 2U);
  EXPECT_THROW(static_cast<void>(sut.column("shares")), std::out_of_range);
}

TEST(Cell, HasTheMedianForItsNumber) {
  EXPECT_EQ(Cell(Spread{2, 1, 3}).number(), 2.0);
  EXPECT_EQ(Cell(5.0).number(), 5.0);
  EXPECT_FALSE(Cell("five").number().has_value());
  EXPECT_FALSE(Cell().number().has_value());
}

}  // namespace
}  // namespace overlap::bench
