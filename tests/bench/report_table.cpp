#include "tests/bench/report_table.hpp"

#include "shared/byte_size.hpp"

#include <algorithm>
#include <cstdio>
#include <stdexcept>

namespace overlap::bench {
namespace {

std::string fixed(double number, int decimals) {
  char text[64];
  std::snprintf(text, sizeof text, "%.*f", decimals, number);
  return text;
}

std::string shown(const Column& column, double number) {
  switch (column.form) {
    case Column::Form::bytes:
      return format_bytes(static_cast<std::uint64_t>(number));
    case Column::Form::share:
      return fixed(100 * number, column.decimals) + " %";
    case Column::Form::number:
    case Column::Form::text:
      break;
  }
  return fixed(number, column.decimals);
}

std::string shown(const Column& column, const Cell& cell) {
  if (const auto* text = std::get_if<std::string>(&cell.value())) {
    return *text;
  }
  const std::optional<double> number = cell.number();
  if (!number) {
    return "-";
  }
  std::string text = shown(column, *number);
  if (const auto* spread = std::get_if<Spread>(&cell.value()); spread != nullptr && column.bounds) {
    const double factor = column.form == Column::Form::share ? 100 : 1;
    text += " (" + fixed(factor * spread->least, column.decimals) + "-" +
            fixed(factor * spread->most, column.decimals) + ")";
  }
  return text;
}

/// Rows are shown while they come, so the width cannot depend on them.
std::size_t width_of(const Column& column) {
  constexpr std::size_t kPlain = 9;
  constexpr std::size_t kWithBounds = 22;
  const std::size_t least = column.bounds                       ? kWithBounds
                            : column.form == Column::Form::text ? 22
                                                                : kPlain;
  return std::max(least, column.header.size());
}

void append(std::string& line, const Column& column, const std::string& text) {
  const std::size_t width = width_of(column);
  const std::string padding(text.size() < width ? width - text.size() : 0, ' ');
  line += line.empty() ? "" : "  ";
  line += column.form == Column::Form::text ? text + padding : padding + text;
}

}  // namespace

std::optional<double> Cell::number() const noexcept {
  if (const auto* number = std::get_if<double>(&value_)) {
    return *number;
  }
  if (const auto* spread = std::get_if<Spread>(&value_)) {
    return spread->median;
  }
  return std::nullopt;
}

ReportTable::ReportTable(std::string name, std::string title, std::vector<Column> columns)
    : name_(std::move(name)), title_(std::move(title)), columns_(std::move(columns)) {}

void ReportTable::add_row(std::vector<Cell> cells) {
  if (cells.size() != columns_.size()) {
    throw std::invalid_argument("a row of " + name_ + " has " + std::to_string(cells.size()) +
                                " cells instead of " + std::to_string(columns_.size()));
  }
  rows_.push_back(std::move(cells));
}

std::size_t ReportTable::column(const std::string& key) const {
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    if (columns_[index].key == key) {
      return index;
    }
  }
  throw std::out_of_range(name_ + " has no column " + key);
}

std::string ReportTable::header_line() const {
  std::string line;
  for (const Column& column : columns_) {
    append(line, column, column.header);
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

std::string ReportTable::line(std::size_t row) const {
  std::string line;
  for (std::size_t index = 0; index < columns_.size(); ++index) {
    append(line, columns_[index], shown(columns_[index], rows_.at(row)[index]));
  }
  return line.substr(0, line.find_last_not_of(' ') + 1);
}

}  // namespace overlap::bench
