#pragma once

#include "tests/bench/report_table.hpp"

#include <deque>
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

namespace overlap::bench {

/// Everything that a run found out. Shows it while it comes. Restricted: one thread.
class Report {
 public:
  explicit Report(std::ostream& out) : out_(out) {}

  /// Something about the machine or the run, for example "kernel" and its name.
  void add_fact(const std::string& name, const std::string& value);
  /// A word about something that was left out or needs to be known. Shown and kept.
  void add_note(const std::string& text);

  /// Begins a table and shows its title. The reference stays valid.
  ReportTable& begin_table(std::string name, std::string title, std::vector<Column> columns);
  /// Adds a row to the table begun last or before, and shows it.
  void add_row(ReportTable& table, std::vector<Cell> cells);

  [[nodiscard]] const std::vector<std::pair<std::string, std::string>>& facts() const noexcept {
    return facts_;
  }
  [[nodiscard]] const std::vector<std::string>& notes() const noexcept { return notes_; }
  [[nodiscard]] const std::deque<ReportTable>& tables() const noexcept { return tables_; }
  /// The table of that name, or null.
  [[nodiscard]] const ReportTable* find(const std::string& name) const noexcept;

 private:
  std::ostream& out_;
  std::vector<std::pair<std::string, std::string>> facts_;
  std::vector<std::string> notes_;
  std::deque<ReportTable> tables_;
};

}  // namespace overlap::bench
