#include "tests/bench/report_svg.hpp"

#include "tests/bench/svg_plot.hpp"

#include <algorithm>
#include <stdexcept>

namespace overlap::bench {
namespace {

/// The points of one column over `slot_bytes`, of the rows with the wanted producer count.
Series read_series(const ReportTable& table, const std::string& key, const std::string& name,
                   double factor = 1) {
  Series series{.name = name, .points = {}, .dashed = false};
  const std::size_t x = table.column("slot_bytes");
  const std::size_t y = table.column(key);
  const std::size_t producers = table.column("producers");
  for (const auto& row : table.rows()) {
    const auto bytes = row[x].number();
    const auto value = row[y].number();
    if (bytes && value && row[producers].number() == table.rows().front()[producers].number()) {
      series.points.push_back({*bytes, factor * *value});
    }
  }
  return series;
}

/// The points of the rows that have this text in the column `peer`.
Series read_peer(const ReportTable& table, const std::string& peer) {
  Series series{.name = peer, .points = {}, .dashed = false};
  for (const auto& row : table.rows()) {
    const auto* name = std::get_if<std::string>(&row[table.column("peer")].value());
    const auto bytes = row[table.column("slot_bytes")].number();
    const auto value = row[table.column("peer_gigabytes_per_second")].number();
    if (name != nullptr && *name == peer && bytes && value) {
      series.points.push_back({*bytes, *value});
    }
  }
  return series;
}

void add_peers(const ReportTable& table, std::vector<Series>& series) {
  std::vector<std::string> seen;
  for (const auto& row : table.rows()) {
    const auto* name = std::get_if<std::string>(&row[table.column("peer")].value());
    if (name != nullptr && std::find(seen.begin(), seen.end(), *name) == seen.end()) {
      seen.push_back(*name);
      series.push_back(read_peer(table, *name));
    }
  }
}

}  // namespace

std::string to_svg(const Report& report) {
  const ReportTable* throughput = report.find("throughput");
  if (throughput == nullptr || throughput->rows().empty()) {
    throw std::runtime_error("the plot needs the scenario 'throughput'");
  }
  Panel rates{.title = "GB/s of input, with as much output (logarithmic)",
              .series = {},
              .log_y = true,
              .unit = ""};
  rates.series.push_back(read_series(*throughput, "daemon_gigabytes_per_second", "overlapd"));
  rates.series.push_back(
      read_series(*throughput, "ceiling_gigabytes_per_second", "ceiling, one process"));
  rates.series.back().dashed = true;
  for (const char* name : {"message_peers", "dataloader"}) {
    if (const ReportTable* peers = report.find(name)) {
      add_peers(*peers, rates.series);
    }
  }
  Panel shares{
      .title = "overlapd's share of the ceiling", .series = {}, .log_y = false, .unit = " %"};
  shares.series.push_back(read_series(*throughput, "share_of_ceiling", "overlapd", 100));
  const auto producers =
      throughput->rows().front()[throughput->column("producers")].number().value_or(0);
  std::string device = "overlapd";
  for (const auto& [name, value] : report.facts()) {
    if (name == "device") {
      device += " on " + value;
    }
  }
  return to_svg(device + ", " + std::to_string(static_cast<int>(producers)) +
                    (producers == 1 ? " producer" : " producers"),
                {rates, shares});
}

}  // namespace overlap::bench
