#include "tests/bench/report_svg.hpp"

#include <gtest/gtest.h>

#include <sstream>
#include <stdexcept>
#include <string>

namespace overlap::bench {
namespace {

using Form = Column::Form;

std::size_t count_of(const std::string& text, const std::string& part) {
  std::size_t count = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) {
    ++count;
  }
  return count;
}

ReportTable& add_throughput(Report& report) {
  return report.begin_table("throughput", "Throughput",
                            {{"slot_bytes", "slot", Form::bytes},
                             {"producers", "producers"},
                             {"ceiling_gigabytes_per_second", "ceiling"},
                             {"daemon_gigabytes_per_second", "daemon"},
                             {"share_of_ceiling", "share"}});
}

TEST(ReportSvg, NeedsTheThroughput) {
  std::ostringstream out;
  Report report(out);
  EXPECT_THROW(static_cast<void>(to_svg(report)), std::runtime_error);
  add_throughput(report);
  EXPECT_THROW(static_cast<void>(to_svg(report)), std::runtime_error);
}

TEST(ReportSvg, DrawsTheFirstProducerCountAlone) {
  std::ostringstream out;
  Report report(out);
  report.add_fact("device", "a device");
  ReportTable& table = add_throughput(report);
  report.add_row(table, {4096.0, 4.0, 10.0, 9.0, 0.9});
  report.add_row(table, {4096.0, 16.0, 10.0, 8.0, 0.8});
  report.add_row(table, {8192.0, 4.0, 10.0, 9.5, 0.95});
  const std::string sut = to_svg(report);
  // Two points of ceiling, rate and share each.
  EXPECT_EQ(count_of(sut, "<circle"), 6U);
  EXPECT_NE(sut.find("a device"), std::string::npos);
  EXPECT_NE(sut.find("4 producers"), std::string::npos);
}

TEST(ReportSvg, DrawsEveryPeer) {
  std::ostringstream out;
  Report report(out);
  report.add_row(add_throughput(report), {4096.0, 1.0, 10.0, 9.0, 0.9});
  ReportTable& peers = report.begin_table("message_peers", "Peers",
                                          {{"slot_bytes", "slot", Form::bytes},
                                           {"peer", "peer", Form::text},
                                           {"peer_gigabytes_per_second", "peer"}});
  report.add_row(peers, {4096.0, "one", 1.0});
  report.add_row(peers, {4096.0, "another", 2.0});
  report.add_row(peers, {8192.0, "one", 1.0});
  const std::string sut = to_svg(report);
  EXPECT_EQ(count_of(sut, ">one<"), 1U);
  EXPECT_EQ(count_of(sut, ">another<"), 1U);
  EXPECT_EQ(count_of(sut, "<circle"), 6U);
}

}  // namespace
}  // namespace overlap::bench
