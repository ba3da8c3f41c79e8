#pragma once

#include "tests/bench/spread.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace overlap::bench {

/// What stands in one place of a table. Empty where there is nothing to say.
class Cell {
 public:
  Cell() = default;
  Cell(std::string text) : value_(std::move(text)) {}
  Cell(const char* text) : value_(std::string(text)) {}
  Cell(double number) : value_(number) {}
  Cell(std::uint64_t number) : value_(static_cast<double>(number)) {}
  Cell(std::uint32_t number) : value_(static_cast<double>(number)) {}
  Cell(Spread spread) : value_(spread) {}
  Cell(std::optional<double> number) {
    if (number) {
      value_ = *number;
    }
  }

  using Value = std::variant<std::monostate, std::string, double, Spread>;
  [[nodiscard]] const Value& value() const noexcept { return value_; }
  /// The number, or the median of a spread; none for text and nothing.
  [[nodiscard]] std::optional<double> number() const noexcept;

 private:
  Value value_;
};

/// How a column is called and shown.
struct Column {
  enum class Form : std::uint8_t { text, number, bytes, share };
  /// For programs: snake_case with the unit.
  std::string key;
  /// For people.
  std::string header;
  Form form = Form::number;
  int decimals = 2;
  /// Of a spread, show the bounds beside the median.
  bool bounds = false;
};

/// The results of one scenario.
class ReportTable {
 public:
  ReportTable(std::string name, std::string title, std::vector<Column> columns);

  /// @pre as many cells as columns
  void add_row(std::vector<Cell> cells);

  [[nodiscard]] const std::string& name() const noexcept { return name_; }
  [[nodiscard]] const std::string& title() const noexcept { return title_; }
  [[nodiscard]] const std::vector<Column>& columns() const noexcept { return columns_; }
  [[nodiscard]] const std::vector<std::vector<Cell>>& rows() const noexcept { return rows_; }

  /// The index of a column.
  /// @throws std::out_of_range if there is none of that key
  [[nodiscard]] std::size_t column(const std::string& key) const;

  /// One line without its end; the same widths for all of them.
  [[nodiscard]] std::string header_line() const;
  [[nodiscard]] std::string line(std::size_t row) const;

 private:
  std::string name_;
  std::string title_;
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

}  // namespace overlap::bench
