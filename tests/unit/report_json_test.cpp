#include "tests/bench/report_json.hpp"

#include <gtest/gtest.h>

#include <limits>
#include <sstream>

#if OVERLAP_HAVE_JSON
#include <nlohmann/json.hpp>

namespace overlap::bench {
namespace {

nlohmann::json written(const Report& report) { return nlohmann::json::parse(to_json(report)); }

TEST(ReportJson, OfNothingIsStillAnObject) {
  std::ostringstream out;
  const auto sut = written(Report(out));
  EXPECT_TRUE(sut.at("facts").empty());
  EXPECT_TRUE(sut.at("notes").empty());
  EXPECT_TRUE(sut.at("tables").empty());
}

TEST(ReportJson, HasEverythingThatWasReported) {
  std::ostringstream out;
  Report report(out);
  report.add_fact("device", "a \"GPU\"");
  report.add_note("left out: something");
  ReportTable& table = report.begin_table("rates", "Rates",
                                          {{"slot_bytes", "slot", Column::Form::bytes},
                                           {"rate", "GB/s"},
                                           {"who", "who", Column::Form::text},
                                           {"p99_us", "p99"}});
  report.add_row(table, {std::uint64_t{4096}, Spread{2.5, 1, 3}, "we", Cell()});
  const auto sut = written(report);
  EXPECT_EQ(sut.at("facts").at("device"), "a \"GPU\"");
  EXPECT_EQ(sut.at("notes").at(0), "left out: something");
  const auto& row = sut.at("tables").at(0).at("rows").at(0);
  EXPECT_EQ(sut.at("tables").at(0).at("name"), "rates");
  EXPECT_EQ(row.at("slot_bytes"), 4096);
  EXPECT_TRUE(row.at("slot_bytes").is_number_integer());
  EXPECT_EQ(row.at("rate").at("median"), 2.5);
  EXPECT_EQ(row.at("rate").at("least"), 1);
  EXPECT_EQ(row.at("rate").at("most"), 3);
  EXPECT_EQ(row.at("who"), "we");
  EXPECT_TRUE(row.at("p99_us").is_null());
}

TEST(ReportJson, HasNullForWhatIsNoNumberAndSurvivesBadText) {
  std::ostringstream out;
  Report report(out);
  report.add_fact("processor", "caf\xe9");
  ReportTable& table = report.begin_table("x", "X", {{"ratio", "ratio"}});
  report.add_row(table, {std::numeric_limits<double>::infinity()});
  EXPECT_TRUE(written(report).at("tables").at(0).at("rows").at(0).at("ratio").is_null());
}

TEST(ReportJson, KeepsEverythingShownToo) {
  std::ostringstream out;
  Report report(out);
  report.add_fact("kernel", "Linux");
  ReportTable& table = report.begin_table("x", "A title", {{"ratio", "ratio"}});
  report.add_row(table, {1.5});
  EXPECT_NE(out.str().find("kernel: Linux"), std::string::npos);
  EXPECT_NE(out.str().find("A title"), std::string::npos);
  EXPECT_NE(out.str().find("1.50"), std::string::npos);
  EXPECT_EQ(report.find("x"), &table);
  EXPECT_EQ(report.find("y"), nullptr);
}

}  // namespace
}  // namespace overlap::bench
#endif
