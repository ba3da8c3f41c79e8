#include "producer/send/send_report.hpp"

#include <gtest/gtest.h>

#include <string>

#if OVERLAP_HAVE_JSON
#include <nlohmann/json.hpp>
#endif

namespace overlap {
namespace {

SendReport report_of_two_jobs() {
  SendReport report;
  report.kernel = "copy";
  report.backend = "host";
  report.input_bytes = 2'000'000;
  report.output_bytes = 1'000'000;
  report.jobs = 2;
  report.seconds = 0.5;
  report.latency.add(1000);
  return report;
}

TEST(SendReport, SaysWhatCameOfIt) {
  SendReport sut = report_of_two_jobs();
  EXPECT_DOUBLE_EQ(sut.gigabytes_per_second(), 0.004);
  EXPECT_DOUBLE_EQ(sut.jobs_per_second(), 4);
  EXPECT_EQ(report_text(sut).find("verified"), std::string::npos);
  sut.verified = false;
  EXPECT_NE(report_text(sut).find("NOT every result is right"), std::string::npos);
}

TEST(SendReport, OfNothingDividesByNothing) {
  const SendReport sut;
  EXPECT_EQ(sut.gigabytes_per_second(), 0);
  EXPECT_EQ(sut.jobs_per_second(), 0);
}

#if OVERLAP_HAVE_JSON
TEST(SendReport, HasExactlyTheseFieldsAsJson) {
  SendReport sut = report_of_two_jobs();
  const auto json = nlohmann::ordered_json::parse(report_json(sut));
  const char* const names[] = {
      "producer",        "kernel",         "backend",        "input_bytes",
      "output_bytes",    "jobs",           "seconds",        "gigabytes_per_second",
      "jobs_per_second", "latency_p50_us", "latency_p99_us", "verified"};
  std::size_t index = 0;
  for (const auto& [name, value] : json.items()) {
    ASSERT_LT(index, std::size(names));
    EXPECT_EQ(name, names[index++]);
  }
  EXPECT_EQ(index, std::size(names));
  EXPECT_TRUE(json["verified"].is_null());
  EXPECT_EQ(json["input_bytes"], 2'000'000);
  sut.verified = true;
  EXPECT_EQ(nlohmann::json::parse(report_json(sut))["verified"], true);
}
#endif

}  // namespace
}  // namespace overlap
