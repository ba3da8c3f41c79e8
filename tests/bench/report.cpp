#include "tests/bench/report.hpp"

#include <ostream>

namespace overlap::bench {

void Report::add_fact(const std::string& name, const std::string& value) {
  facts_.emplace_back(name, value);
  out_ << name << ": " << value << std::endl;
}

void Report::add_note(const std::string& text) {
  notes_.push_back(text);
  out_ << text << std::endl;
}

ReportTable& Report::begin_table(std::string name, std::string title, std::vector<Column> columns) {
  ReportTable& table = tables_.emplace_back(std::move(name), std::move(title), std::move(columns));
  out_ << "\n" << table.title() << "\n\n" << table.header_line() << std::endl;
  return table;
}

void Report::add_row(ReportTable& table, std::vector<Cell> cells) {
  table.add_row(std::move(cells));
  out_ << table.line(table.rows().size() - 1) << std::endl;
}

const ReportTable* Report::find(const std::string& name) const noexcept {
  for (const ReportTable& table : tables_) {
    if (table.name() == name) {
      return &table;
    }
  }
  return nullptr;
}

}  // namespace overlap::bench
