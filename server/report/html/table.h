// Tables of the page. The first rows are shown, some more are folded, the rest is counted: a page stays one that people
// can scroll and a mail can carry, whatever the run was.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "server/report/text/html_writer.h"

namespace castscope::report {

class Table {
 public:
  static constexpr std::size_t kOpen = 15;   // rows that stand there
  static constexpr std::size_t kMost = 100;  // with those that are folded

  struct Column {
    std::string name;
    bool number = false;
    bool sorted = false;  // rows are in the order of this column, the largest first
  };
  struct Row {
    std::vector<std::string> cells;
    std::string id = {};  // the target of links on the page
    // Tells the row from another one that reads alike, what helps most first: of each, those that differ are added to
    // the first cell.
    std::vector<std::string> telling = {};
  };

  // The caption says what the rows are and in which order.
  Table(std::string caption, std::vector<Column> columns);
  void add(Row row) { rows_.push_back(std::move(row)); }
  bool full() const { return rows_.size() == kMost; }
  // `all`: how many rows there would be; `where`: the report that has all of them.
  void write(Html& html, std::size_t all, std::string_view where);
  // Does the same for rows that links lead to: none of them is folded.
  void write_unfolded(Html& html, std::size_t all, std::string_view where);

 private:
  void write_rows(Html& html, std::size_t from, std::size_t to) const;
  bool is_told(std::size_t column) const;  // a column that says nothing in any row is left out
  void tell_apart();
  void tell_apart(const std::vector<std::size_t>& alike);

  const std::string caption_;
  const std::vector<Column> columns_;
  std::vector<Row> rows_;
};

// Writes "12 more are in the JSON report." where not all rows are shown.
void write_rest(Html& html, std::size_t all, std::size_t shown, std::string_view where);

}  // namespace castscope::report
