#include "tests/bench/report_json.hpp"

#include <cmath>
#include <cstdint>
#include <stdexcept>

#if OVERLAP_HAVE_JSON
#include <nlohmann/json.hpp>
#endif

namespace overlap::bench {

#if OVERLAP_HAVE_JSON

namespace {

using Json = nlohmann::ordered_json;

Json to_value(const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value())) {
    return *text;
  }
  if (const auto* spread = std::get_if<Spread>(&cell.value())) {
    return {{"median", spread->median}, {"least", spread->least}, {"most", spread->most}};
  }
  const std::optional<double> number = cell.number();
  if (!number || !std::isfinite(*number)) {
    return nullptr;
  }
  // Counts and sizes are written as whole numbers.
  constexpr double kExact = 9007199254740992.0;
  if (std::floor(*number) == *number && std::abs(*number) < kExact) {
    return static_cast<std::int64_t>(*number);
  }
  return *number;
}

Json to_value(const ReportTable& table) {
  Json rows = Json::array();
  for (const auto& cells : table.rows()) {
    Json row = Json::object();
    for (std::size_t index = 0; index < cells.size(); ++index) {
      row[table.columns()[index].key] = to_value(cells[index]);
    }
    rows.push_back(std::move(row));
  }
  return {{"name", table.name()}, {"title", table.title()}, {"rows", std::move(rows)}};
}

}  // namespace

bool can_write_json() noexcept { return true; }

std::string to_json(const Report& report) {
  Json facts = Json::object();
  for (const auto& [name, value] : report.facts()) {
    facts[name] = value;
  }
  Json tables = Json::array();
  for (const ReportTable& table : report.tables()) {
    tables.push_back(to_value(table));
  }
  const Json whole = {
      {"facts", std::move(facts)}, {"notes", report.notes()}, {"tables", std::move(tables)}};
  // A name that is no UTF-8 must not cost the results of a long run.
  return whole.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

#else

bool can_write_json() noexcept { return false; }

std::string to_json(const Report& /*report*/) {
  throw std::runtime_error("this overlap-bench was built without nlohmann-json3-dev");
}

#endif

}  // namespace overlap::bench
