// Tables of the page.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "server/report/text/html_writer.h"

namespace castscope::report {

// A table of the page. Its rows become blocks with labels where the page is narrow.
class Table {
 public:
  struct Column {
    std::string_view name;
    bool number = false;
  };
  Table(Html& html, std::vector<Column> columns);
  void row(const std::vector<std::string>& cells, std::string_view id = "");  // id: the target of links on the page

 private:
  Html& html_;
  const std::vector<Column> columns_;
  const Html::Scope table_;
};

// Writes "12 more are in the JSON report." where not all rows are shown.
void write_rest(Html& html, std::size_t all, std::size_t shown, const char* where);

}  // namespace castscope::report
